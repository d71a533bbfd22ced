//! The command line of the live data plane.
//!
//! Exit status: 0 done, 2 something given or found is not as it must be, 3 something failed, 130 interrupted.

use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use clap::{Args, Parser, Subcommand};
use forebay_live::client::ClientCommand;
use forebay_live::config::DEFAULT_SOCKET;
use forebay_live::configure::Configuration;
use forebay_live::privileges::Otherwise;
use forebay_live::run::{self, Failure};
use forebay_live::setup;
use forebay_live::sys::clock;
use forebay_live::sys::signals::Signals;
use forebay_units::Time;

/// The subcommand that turns offloads on again; started by `run`, not by people.
const RESTORER: &str = "restore-offloads";

/// Queue disciplines on real traffic between two Linux interfaces.
#[derive(Parser)]
#[command(name = "forebay-live", version, subcommand_required = true, arg_required_else_help = true)]
struct Arguments {
    /// The control socket of the running program.
    #[arg(long, global = true, value_name = "PATH", default_value = DEFAULT_SOCKET)]
    socket: PathBuf,
    /// Print JSON.
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Commands,
}

#[derive(Subcommand)]
enum Commands {
    /// Forwards until SIGTERM or Ctrl-C; SIGHUP reads the configuration again.
    Run(Configured),
    /// Checks a configuration and the machine, and touches nothing.
    Check(Configured),
    /// Removes the bridge that `fail_open` has left between the interfaces; nothing passes between them any more.
    Teardown {
        /// Its name: `fb-` and the inside interface, unless the configuration says otherwise.
        bridge: String,
    },
    #[command(flatten)]
    Client(ClientCommand),
    /// Turns offloads on again when its input ends.
    #[command(name = RESTORER, hide = true)]
    RestoreOffloads,
}

#[derive(Args)]
struct Configured {
    /// The configuration, a TOML file.
    file: PathBuf,
    /// Overrides a key, such as `outbound.rate="50 Mbps"`.
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
}

impl Configured {
    fn read(self) -> Result<Configuration, Failure> {
        let pair = |text: String| match text.split_once('=') {
            Some((key, value)) => Ok((key.trim().to_owned(), value.trim().to_owned())),
            None => Err(Failure::Input(format!("--set {text}: the value is missing; write KEY=VALUE"))),
        };
        let overrides = self.set.into_iter().map(pair).collect::<Result<_, _>>()?;
        Configuration::read(self.file, overrides).map_err(Failure::Input)
    }
}

fn main() -> ExitCode {
    let Arguments { socket, json, command } = Arguments::parse();
    let result = match command {
        Commands::Run(configured) => configured.read().and_then(forward),
        Commands::Check(configured) => configured.read().and_then(|configuration| {
            run::check(&configuration)?;
            log("the configuration and the machine meet all requirements");
            Ok(())
        }),
        Commands::Teardown { bridge } => tear_down(&bridge),
        Commands::RestoreOffloads => {
            let (mut input, mut output) = (io::stdin().lock(), io::stdout());
            setup::run_restorer(&mut input, &mut output, Otherwise::Kill)
                .map_err(|error| Failure::Broken(error.to_string()))
        }
        Commands::Client(command) => return ask(&command, &socket, json),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            let (message, status) = match failure {
                Failure::Input(message) => (message, 2),
                Failure::Broken(message) => (message, 3),
            };
            log(&message);
            ExitCode::from(status)
        }
    }
}

/// A line for the operator.
fn log(text: &str) {
    // Without a listener it continues.
    let _ = writeln!(io::stderr(), "forebay-live: {}", text.trim_end());
}

fn forward(configuration: Configuration) -> Result<(), Failure> {
    let program = std::env::current_exe()
        .map_err(|error| Failure::Broken(format!("cannot find the path of this program: {error}")))?;
    let mut restorer = Command::new(program);
    restorer.arg(RESTORER);
    run::run(configuration, restorer, log)
}

fn tear_down(bridge: &str) -> Result<(), Failure> {
    let done = setup::teardown(bridge).map_err(|error| Failure::Input(error.to_string()))?;
    let _ = writeln!(io::stdout(), "removed {}; released {}", done.bridge, done.released.join(", "));
    Ok(())
}

/// Asks a Forebay that runs. Ctrl-C ends a capture or a record in good order.
fn ask(command: &ClientCommand, socket: &std::path::Path, json: bool) -> ExitCode {
    let stop = Arc::new(AtomicBool::new(false));
    if let Ok(mut signals) = Signals::block() {
        let stop = Arc::clone(&stop);
        thread::spawn(move || {
            while signals.take().is_none() {
                let _ = clock::wait(&[signals.as_fd()], Time::NEVER);
            }
            stop.store(true, Ordering::Relaxed);
        });
    }
    let result = command.run(socket, json, &mut io::stdout(), &stop);
    match result {
        Ok(()) if stop.load(Ordering::Relaxed) => ExitCode::from(130),
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            if json && !io::stdout().is_terminal() {
                let _ = writeln!(io::stdout(), "{}", serde_json::json!({ "error": message }));
            }
            log(&message);
            ExitCode::from(2)
        }
    }
}
