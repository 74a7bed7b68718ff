//! The `flower` program.

fn main() -> std::process::ExitCode {
    flower::cli::main()
}
