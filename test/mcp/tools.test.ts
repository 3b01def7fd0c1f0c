/** The tools that a caller may use, and the guard within each. */
import fc from 'fast-check';
import type { Principal } from 'keyscope';
import { isAccessError } from 'keyscope';
import type { McpAuthInfo } from 'keyscope/mcp';
import { allowedTools, guardTool, toAuthInfo } from 'keyscope/mcp';
import { describe, expect, it } from 'vitest';
import {
  AUTHORITY,
  catalog,
  issue,
  NOWHERE,
  OTHER,
  OWN,
  setUp,
  untyped,
} from '../support/keyring.ts';
import { issueForTwo, policy, RESOURCE, setUpGate, tools } from '../support/mcp.ts';

interface Caller {
  readonly principal: Principal;
  readonly authInfo: McpAuthInfo;
}

/** A principal with `threats:read` that can address two entities. */
async function createCaller(): Promise<Caller> {
  const { keyring } = setUp();
  const principal = await keyring.verify((await issueForTwo(keyring)).key);
  return { principal, authInfo: toAuthInfo(principal, { resource: RESOURCE }) };
}

describe('guardTool', () => {
  it('returns the checked entity', async () => {
    const { principal, authInfo } = await createCaller();
    expect(guardTool({ policy }, authInfo, 'listThreats')).toEqual({ principal, entityId: OWN });
    expect(guardTool({ policy }, authInfo, 'listThreats', OTHER)).toEqual({
      principal,
      entityId: OTHER,
    });
    expect(guardTool({ policy }, authInfo, 'listThreats', null).entityId).toBe(OWN);
  });

  it.each([
    ['listUsers', undefined, 'insufficient_scope'],
    ['updateThreat', undefined, 'insufficient_scope'],
    ['listThreats', NOWHERE, 'entity_forbidden'],
    ['listThreats', OWN.toUpperCase(), 'invalid_request'],
    ['listThreats', [OWN, OTHER], 'invalid_request'],
    ['listThreats', {}, 'invalid_request'],
    ['listThreats', '', 'invalid_request'],
  ] as const)('denies %s on %j with %s', async (tool, entity, code) => {
    const { authInfo } = await createCaller();
    let error: unknown;
    try {
      guardTool({ policy }, authInfo, tool, entity);
    } catch (thrown) {
      error = thrown;
    }
    expect(isAccessError(error) && error.code).toBe(code);
  });

  it('rejects a tool that the policy lacks', async () => {
    const { authInfo } = await createCaller();
    expect(() => guardTool({ policy }, authInfo, untyped('listThreat'))).toThrow(TypeError);
  });

  it('rejects a copy of the principal', async () => {
    const { authInfo } = await createCaller();
    const parsed = JSON.parse(JSON.stringify(authInfo)) as McpAuthInfo;
    for (const copy of [parsed, structuredClone(authInfo)]) {
      expect(() => guardTool({ policy }, copy, 'whoami')).toThrow(/^principal: pass one that/);
    }
  });
});

describe('allowedTools', () => {
  it('lists exactly the tools that guardTool allows, for every set of scopes', async () => {
    const { keyring } = setUp();
    const property = fc.asyncProperty(fc.subarray([...catalog.all]), async (scopes) => {
      const input = { name: 'n', scopes, expiresAt: 'never', justification: 'tests' } as const;
      const { key } = await keyring.issue(input, AUTHORITY);
      const principal = await keyring.verify(key);
      const authInfo = toAuthInfo(principal, { resource: RESOURCE });
      const passing = tools.filter(({ name }) => {
        try {
          return guardTool({ policy }, authInfo, name).entityId === OWN;
        } catch {
          return false;
        }
      });
      expect(allowedTools({ policy }, principal, tools)).toEqual(passing);
    });
    await fc.assert(property);
  });

  it('returns the tools themselves, in their given order', async () => {
    const { keyring } = setUp();
    const principal = await keyring.verify((await issue(keyring)).key);
    const mine = [
      { name: 'listThreats', title: 'T' },
      { name: 'listUsers', title: 'U' },
      { name: 'whoami', title: 'W' },
    ];
    const allowed = allowedTools({ policy }, principal, mine);
    expect(allowed).toEqual([mine[0], mine[2]]);
    expect(allowed[0]).toBe(mine[0]);
  });

  it.each([
    [[{ name: 'listThreat' }], /^tools: "listThreat" is not in the policy/],
    [[{ name: 'constructor' }], /^tools: "constructor" is not in the policy/],
    [[{}], /^tools: names: element 0: pass a text, not undefined/],
    [[null], /^tools: names: element 0: pass a text, not undefined/],
  ])('rejects %j, and so does the gate at start-up', async (odd, message) => {
    const { keyring } = setUp();
    const principal = await keyring.verify((await issue(keyring)).key);
    expect(() => allowedTools({ policy }, principal, untyped<typeof tools>(odd))).toThrow(message);
    expect(() => setUpGate({ tools: untyped(odd) })).toThrow(message);
  });

  it('rejects a value that is not a principal', () => {
    expect(() => allowedTools({ policy }, untyped({ scopes: ['users:read'] }), [])).toThrow(
      TypeError,
    );
  });
});
