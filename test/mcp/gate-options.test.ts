/** The configuration of a gate, checked at start-up. */
import { describe, expect, it } from 'vitest';
import { catalog, setUp, untyped } from '../support/keyring.ts';
import { setUpGate } from '../support/mcp.ts';

describe('createMcpGate, at start-up', () => {
  it.each([
    [{ keyring: {} }, /^keyring: /],
    [{ policy: {} }, /^createMcpGate: unknown field "policy"/],
    [{ onOutage() {} }, /^createMcpGate: unknown field "onOutage"/],
    [{ tools: undefined }, /^tools: /],
    [{ operation: 'nothing' }, /"nothing" is not in the table/],
    [{ realm: 'ü' }, /^realm: /],
    [{ resourceMetadata: 'ü' }, /^resource_metadata: /],
    [{ sessionOwner: 'x' }, /^sessionOwner, onError, context: /],
    [{ onError: 'x' }, /^sessionOwner, onError, context: /],
    [{ context: { id: 'x' } }, /^sessionOwner, onError, context: /],
    [{ recheckMs: 0 }, /^recheckMs: /],
    [{ invalidation: {} }, /^invalidation: /],
    [{ now: 5 }, /^now: /],
    [{ maxBodyBytes: 0 }, /^maxBodyBytes: /],
    [{ maxBytes: 5 }, /^createMcpGate: unknown field "maxBytes"/],
  ])('rejects %j', (odd, message) => {
    expect(() => setUpGate(untyped(odd))).toThrow(message);
  });

  it.each(['authenticate', 'admit'] as const)('rejects a keyring without %s', (method) => {
    const { keyring } = setUp();
    const half = { ...keyring, [method]: undefined };
    expect(() => setUpGate({ keyring: untyped(half) })).toThrow(/^keyring: /);
  });

  it('rejects a keyring without a policy', () => {
    const { keyring } = setUp({ catalog });
    const make = () => setUpGate({ keyring });
    expect(make).toThrow(/^keyring: pass one that was made with a policy$/);
  });
});
