/** `keyscope/cli`: the imports of a `keyscope.config`. The command is the package's `bin`. */
export type { CommandConfig, CommandSql } from './define-config.js';
export { defineConfig } from './define-config.js';
