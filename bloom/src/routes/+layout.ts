// Everything is drawn in the browser: what is shown needs a token, and the shell has none.
export const ssr = false;
export const prerender = false;
