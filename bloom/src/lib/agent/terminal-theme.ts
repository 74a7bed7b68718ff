//! The terminal theme, from the colours of the page.
import type { ITheme } from "@xterm/xterm";

export function terminalTheme(): ITheme {
  const style = getComputedStyle(document.documentElement);
  const of = (name: string) => style.getPropertyValue(`--${name}`).trim();
  const [green, magenta, amber, red, blue] = ["green", "magenta", "amber", "red", "blue"].map(of);
  const [ink, quiet, ground] = ["ink", "quiet", "raised"].map(of);
  return {
    background: ground,
    foreground: ink,
    cursor: ink,
    cursorAccent: ground,
    selectionBackground: of("accent-wash"),
    black: ink,
    brightBlack: quiet,
    white: ink,
    brightWhite: ink,
    red,
    brightRed: red,
    green,
    brightGreen: green,
    yellow: amber,
    brightYellow: amber,
    blue,
    brightBlue: blue,
    magenta,
    brightMagenta: magenta,
    cyan: blue,
    brightCyan: blue,
  };
}
