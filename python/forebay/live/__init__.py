"""The live data plane from the command line: `forebay live` starts the program `forebay-live`, and watches it."""
