/**
 * The tools that a caller may use, and the guard within each tool. The policy has an operation with
 * the same name as each tool.
 */
import type { Admission, Admitting } from '../core/admit.js';
import { assert, hasMethods, quote, readStrings } from '../core/input.js';
import type { Policy } from '../core/policy.js';
import type { Principal } from '../core/principal.js';
import { type AuthInfoLike, principalOf } from './auth-info.js';

/** A tool. Only its name matters here. */
export interface McpTool {
  readonly name: string;
}

/** A keyring, of which only its policy matters here. */
export type PolicyHolder<Operation extends string = string> = Pick<Admitting<Operation>, 'policy'>;

/** Returns the policy of a keyring. Throws a `TypeError` if it has none. */
export function policyOf<Operation extends string>(
  keyring: PolicyHolder<Operation>,
): Policy<Operation> {
  const { policy } = Object(keyring) as PolicyHolder<Operation>;
  assert(hasMethods(policy, 'unmapped'), 'keyring: pass one that was made with a policy');
  return policy;
}

/** Throws a `TypeError` at start-up if the policy lacks one of the tools. */
export function assertMapped(policy: Policy, tools: readonly McpTool[]): void {
  const names = tools.map((tool) => tool?.name);
  const [missing] = policy.unmapped(readStrings(names, 'tools: names'));
  const isMapped = missing === undefined;
  assert(isMapped, `tools: ${quote(missing)} is not in the policy. Add it to definePolicy`);
}

/**
 * Returns the tools that a caller may use, in their given order. Register only these for the
 * caller, or answer `tools/list` with them. Pass the keyring that guards the calls.
 *
 * Not checked: the entity, which `tools/list` does not name.
 *
 * @throws TypeError if the policy lacks a tool, or `principal` is not a principal.
 * @example
 * for (const tool of allowedTools(keyring, principal, tools)) {
 *   server.registerTool(tool.name, tool.config, tool.run);
 * }
 */
export function allowedTools<Tool extends McpTool>(
  keyring: PolicyHolder,
  principal: Principal,
  tools: readonly Tool[],
): Tool[] {
  const policy = policyOf(keyring);
  assertMapped(policy, tools);
  const allowed = new Set(policy.allowed(principal));
  return tools.filter((tool) => allowed.has(tool.name));
}

/**
 * Guards a tool from within. It is a second line of defence, independent of the gate, and the only
 * one for resources and prompts, which the gate does not check.
 *
 * Not checked: whether the key has ended since the request arrived. Emits no event and counts no
 * usage, because the gate does that for tools.
 *
 * @param entityId The unchecked entity from the arguments. Default: the key's own entity.
 * @returns The principal and the checked entity. Handlers must not use any other entity.
 * @throws AccessError `insufficient_scope`, `invalid_request`, `entity_forbidden`; its message
 *   contains nothing secret.
 * @throws TypeError if the policy lacks the tool, and as {@link principalOf}.
 * @example
 * const { authInfo } = ctx.http ?? {};
 * const { entityId } = guardTool(keyring, authInfo, 'listThreats', args.entity_uuid);
 */
export function guardTool<Operation extends string>(
  keyring: PolicyHolder<Operation>,
  authInfo: AuthInfoLike,
  tool: NoInfer<Operation>,
  entityId?: unknown,
): Admission {
  const principal = principalOf(authInfo);
  const checked = policyOf(keyring).authorize(principal, tool, { entityId });
  return Object.freeze({ principal, entityId: checked });
}
