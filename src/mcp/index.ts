/**
 * `keyscope/mcp`: the same keys, policy and denials as for REST, for both generations of the MCP
 * SDK, `@modelcontextprotocol/sdk` 1.x and `@modelcontextprotocol/server` 2.x. It does not import
 * the SDK: its types match structurally, and you pass in the error classes.
 *
 * There are two lines of defence: `createMcpGate` in front of the transport, and `guardTool` within
 * each tool.
 */
export type { McpAuthInfo } from './auth-info.js';
export { principalOf, toAuthInfo } from './auth-info.js';
export type { McpEntry, McpGate } from './gate.js';
export { createMcpGate } from './gate.js';
export type { McpGateOptions, McpKeyring } from './gate-options.js';
export type { McpVerifier, McpVerifierOptions } from './mcp-verifier.js';
export { createMcpVerifier } from './mcp-verifier.js';
export type { McpGateInput } from './message-body.js';
export type { ProtectedResourceMetadata, ProtectedResourceOptions } from './metadata.js';
export { protectedResourceMetadata } from './metadata.js';
export { endWithKey } from './stream.js';
export type { McpTool } from './tools.js';
export { allowedTools, guardTool } from './tools.js';
