/**
 * `keyscope/leaks`: receives reports of leaked keys and ends these keys. One handler of fetch
 * requests, for GitHub, GitLab and anyone who holds a key.
 */
export type { LeakHandler } from './leak-handler.js';
export { createLeakHandler } from './leak-handler.js';
export type { Leak, LeakHandlerOptions, LeakKeyring } from './leak-handler-options.js';
export type { GitHubSource, GitLabSource, LeakAction, LeakSource } from './sources.js';
