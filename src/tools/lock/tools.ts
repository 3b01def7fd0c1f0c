/** Lists the MCP tools behind a gate, which admits each as the operation of its name. */
import { assert, readStrings } from '../../core/input.js';
import { type Guarding, joinPolicies } from './guarded.js';
import { type GuardedRoute, sortRoutes } from './route.js';

/** Options of `createMcpGate` of `keyscope/mcp`. `toolsOf` ignores the other ones. */
export interface ToolsOfOptions {
  readonly keyring: Guarding;
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
 * const routes = [...routesOf(app), ...toolsOf({ keyring, tools })];
 */
export function toolsOf({ keyring, tools, operation }: ToolsOfOptions): readonly GuardedRoute[] {
  const { operations: known } = joinPolicies(keyring, 'toolsOf');
  assert(Array.isArray(tools), 'toolsOf: tools: pass a list of all tools, each with its name');
  if (operation !== undefined) keyring.policy.requires(operation);
  const names = readStrings(
    tools.map((tool: { readonly name?: unknown } | null) => tool?.name),
    'toolsOf: names',
  );
  const before = operation === undefined ? [] : [operation];
  return sortRoutes(
    names.map((name) => {
      const operations = known.has(name) ? [...before, name] : [];
      return { method: 'TOOL', path: name, operations };
    }),
  );
}
