/** `keyscope/mcp`. */

export type {
  McpAuthInfo,
  McpEntry,
  McpGate,
  McpGateOptions,
  McpKeyring,
  McpTool,
  McpVerifier,
  McpVerifierOptions,
  ProtectedResourceMetadata,
  ProtectedResourceOptions,
} from './gate.js';
export {
  allowedTools,
  createMcpGate,
  createMcpVerifier,
  guardTool,
  principalOf,
  protectedResourceMetadata,
  toAuthInfo,
} from './gate.js';
