/** Calls of unknown tools emit events, so that operators notice a forgotten tool. */
import type { KeyringEvent } from 'keyscope';
import { describe, expect, it } from 'vitest';
import { issue, OWN, START } from '../support/keyring.ts';
import { call, post, setUpGate } from '../support/mcp.ts';

function toolOf(event: KeyringEvent): string | undefined {
  if (!('context' in event)) return undefined;
  const { tool } = event.context ?? {};
  return tool;
}

// Regression: only the client learned of the refusal, so a tool that was missing in the gate's list
// looked like one that nobody calls.
describe('a call of an unknown tool', () => {
  it('emits an event with the caller and the name of the tool', async () => {
    const context = () => ({ request: 'r1', tool: 'another' });
    const { gate, keyring, events } = setUpGate({ operation: 'connect', context });
    const { key, info } = await issue(keyring);
    await gate(post(key, call('wipeEverything', { entity_uuid: 'x' })));
    expect(events.slice(1)).toEqual([
      expect.objectContaining({ type: 'access.granted', operation: 'connect' }),
      {
        type: 'access.denied',
        time: START,
        keyId: info.keyId,
        entityId: OWN,
        operation: 'tools/call',
        code: 'not_found',
        reason: 'unknown_tool',
        context: { request: 'r1', tool: 'wipeEverything' },
      },
    ]);
  });

  it('emits one in a batch too, and no scope of the batch counts as used', async () => {
    const { gate, keyring, events } = setUpGate();
    const { key } = await issue(keyring);
    await gate(post(key, [call('listThreats'), call('one'), call('two')]));
    const told = events.slice(1).map((event) => ('context' in event ? event.context : undefined));
    expect(told).toEqual([{ tool: 'one' }, { tool: 'two' }]);
  });

  it('cuts the name, and masks keys and line breaks in it', async () => {
    const { gate, keyring, events } = setUpGate();
    const { key } = await issue(keyring);
    for (const name of [`${key}\n`, 'x'.repeat(300), { constructor: key }, undefined])
      await gate(post(key, call(name)));
    const told = events.slice(1).map(toolOf);
    expect(told).toEqual([
      'acme_[redacted]\ufffd',
      'x'.repeat(200),
      'no text, but of type object',
      'no text, but of type undefined',
    ]);
  });

  it('keeps the name even if the context is full', async () => {
    const texts = Array.from({ length: 9 }, (_, index) => [`text ${index}`, 'x']);
    const context = () => Object.fromEntries(texts) as Record<string, string>;
    const { gate, keyring, events } = setUpGate({ context });
    const { key } = await issue(keyring);
    await gate(post(key, call('forgotten')));
    expect(events.at(-1)).toHaveProperty('context.tool', 'forgotten');
  });

  it('emits an event even if the context throws', async () => {
    const broken = Object.defineProperty({}, 'address', {
      enumerable: true,
      get() {
        throw new Error('the connection is gone');
      },
    });
    const { gate, keyring, events } = setUpGate({ context: () => broken });
    const { key } = await issue(keyring);
    const answer = await gate(post(key, call('forgotten')));
    expect(answer).toHaveProperty('status', 200);
    expect(events.at(-1)).toHaveProperty('context', { tool: 'forgotten' });
  });

  it('leads to 503 if the clock breaks', async () => {
    let working = Number.POSITIVE_INFINITY;
    const now = () => {
      working -= 1;
      return working < 0 ? Number.NaN : START;
    };
    const { gate, keyring } = setUpGate({}, { now });
    const { key } = await issue(keyring);
    // Works for authentication, then breaks.
    working = 1;
    const answer = await gate(post(key, call('forgotten')));
    expect(answer).toHaveProperty('status', 503);
  });
});
