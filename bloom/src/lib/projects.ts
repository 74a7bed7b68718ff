/** Stands for all projects in an address. */
export const ALL_PROJECTS = "*";
