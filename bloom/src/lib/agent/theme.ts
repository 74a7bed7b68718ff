//! The page's colours for a terminal, light or dark as the page is.
import type { ITheme } from "@xterm/xterm";

export function terminalTheme(): ITheme {
  const style = getComputedStyle(document.documentElement);
  const of = (name: string) => style.getPropertyValue(`--${name}`).trim();
  const [leaf, petal, sun, thorn, sky] = ["leaf", "petal", "sun", "thorn", "sky"].map(of);
  const [ink, quiet, ground] = ["ink", "quiet", "raised"].map(of);
  return {
    background: ground,
    foreground: ink,
    cursor: ink,
    cursorAccent: ground,
    selectionBackground: of("leaf-wash"),
    black: ink,
    brightBlack: quiet,
    white: ink,
    brightWhite: ink,
    red: thorn,
    brightRed: thorn,
    green: leaf,
    brightGreen: leaf,
    yellow: sun,
    brightYellow: sun,
    blue: sky,
    brightBlue: sky,
    magenta: petal,
    brightMagenta: petal,
    cyan: sky,
    brightCyan: sky,
  };
}
