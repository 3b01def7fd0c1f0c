/**
 * `keyscope/cli`: what a `keyscope.config` imports. The command itself is the package's `bin`, and
 * nobody imports it.
 */
export type { CommandConfig, CommandDatabase } from './define-config.js';
export { defineConfig } from './define-config.js';
