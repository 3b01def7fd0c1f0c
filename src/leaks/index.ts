/**
 * `keyscope/leaks`: doors for those who find keys where they should not be. One handler of fetch
 * requests, for GitHub, GitLab, and whoever holds a key.
 */
export type { LeakHandler } from './leak-handler.js';
export { createLeakHandler } from './leak-handler.js';
export type { Leak, LeakHandlerOptions, LeakKeyring } from './leak-handler-options.js';
export type { GitHubSource, GitLabSource, LeakAction, LeakSource } from './sources.js';
