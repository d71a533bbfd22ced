//! The command line of the live data plane.

use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use clap::{Parser, Subcommand};
use forebay_live::configure::Configuration;
use forebay_live::privileges::Otherwise;
use forebay_live::run::{self, Failure};
use forebay_live::setup;

fn main() -> ExitCode {
    ExitCode::SUCCESS
}
