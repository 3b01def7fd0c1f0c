/** Lists the MCP tools behind a gate, which admits each as the operation of its name. */
import { assert, readStrings } from '../../core/input.js';
import type { Policy } from '../../core/policy.js';
import { type GuardedRoute, sortRoutes } from './route.js';

/** Options of `createMcpGate` of `keyscope/mcp`. `toolsOf` ignores the other ones. */
export interface ToolsOfOptions {
  readonly policy: Policy;
  readonly tools: readonly { readonly name: string }[];
  /** An operation that every request needs in addition. */
  readonly operation?: string | undefined;
}

/**
 * Lists the tools of an MCP server, sorted, from the options of its gate. A tool that the policy
 * lacks is listed without operations; `createMcpGate` throws on it.
 *
 * Not checked: whether the server uses the gate.
 *
 * @throws TypeError if the options are not those of a gate.
 * @example
 * const routes = [...routesOf(app), ...toolsOf({ policy, tools })];
 */
export function toolsOf({ policy, tools, operation }: ToolsOfOptions): readonly GuardedRoute[] {
  const isPolicy = typeof policy?.unmapped === 'function';
  assert(isPolicy, 'toolsOf: pass the gate options { policy, tools }');
  assert(Array.isArray(tools), 'toolsOf: tools: pass a list of all tools, each with its name');
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
