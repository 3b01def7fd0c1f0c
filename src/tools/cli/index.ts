/**
 * `keyscope/cli`: what a `keyscope.config` imports. The command itself is the package's `bin`, and
 * nobody imports it.
 */
export type { CommandConfig, CommandSql } from './define-config.js';
export { defineConfig } from './define-config.js';
