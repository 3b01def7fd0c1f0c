/** A route of a service, or an MCP tool, as it really is. */

/** What is in front of it. */
export interface GuardedRoute {
  /** `GET`, … or `TOOL` for an MCP tool. */
  readonly method: string;
  /** As it is declared, with the mount paths before it: `/v1/threats/:id`; a tool's name. */
  readonly path: string;
  /** The operations of the guards in front of it, in order: none if it has no guard. */
  readonly operations: readonly string[];
}
