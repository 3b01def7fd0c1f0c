/** MCP tools behind a gate: each is admitted as the operation of its name. */
import { assert, readStrings } from '../../core/input.js';
import type { Policy } from '../../core/policy.js';
import { type GuardedRoute, sortRoutes } from './route.js';

/** What `createMcpGate` of `keyscope/mcp` takes; its other options are ignored. */
export interface ToolsOfOptions {
  readonly policy: Policy;
  readonly tools: readonly { readonly name: string }[];
  /** What every request counts as, too. */
  readonly operation?: string | undefined;
}

/**
 * Lists the tools of an MCP server, sorted, from the options of its gate. A tool that the policy
 * does not have is listed without operations: `createMcpGate` refuses to start with it.
 *
 * Not checked: whether the gate is in front of the server.
 *
 * @throws TypeError if the options are not those of a gate.
 * @example
 * const routes = [...routesOf(app), ...toolsOf({ policy, tools })];
 */
export function toolsOf({ policy, tools, operation }: ToolsOfOptions): readonly GuardedRoute[] {
  assert(typeof policy?.unmapped === 'function', 'toolsOf: pass { policy, tools } of the gate');
  assert(Array.isArray(tools), 'toolsOf: tools: pass the list of all tools, each with its name');
  if (operation !== undefined) policy.requires(operation);
  const names = readStrings(
    tools.map((tool: { readonly name?: unknown } | null) => tool?.name),
    'toolsOf: names',
  );
  const unmapped = new Set(policy.unmapped(names));
  const before = operation === undefined ? [] : [operation];
  return sortRoutes(
    names.map((name) => {
      const operations = unmapped.has(name) ? [] : [...before, name];
      return { method: 'TOOL', path: name, operations };
    }),
  );
}
