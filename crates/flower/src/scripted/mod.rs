//! A scripted agent: speaks ACP and plays what the spec of its brief says, for tests and the demo.
