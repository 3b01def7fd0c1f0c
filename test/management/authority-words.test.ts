/** `actor` and `reason`: who, and why, in the record and in every event. */
import { describe, expect, it } from 'vitest';
import { AUTHORITY, issue, OTHER, PLAIN, rowOf, setUp } from '../support/keyring.ts';
import { authorityWith, EACH_CALL, refusedAsBug, refusedAsInput } from '../support/managing.ts';

/** Values that are not readable text, and the error about each. */
const ODD: readonly (readonly [string, unknown, RegExp])[] = [
  ['null', null, /: pass a string/],
  ['a number', 7, /: pass a string/],
  ['true', true, /: pass a string/],
  ['a list', ['ada'], /: pass a string/],
  ['an object', { name: 'ada' }, /: pass a string/],
  ['a boxed text', Object('ada') as unknown, /: pass a string/],
  ['empty', '', /: 1 to 200 characters, not 0/],
  ['201 characters', 'x'.repeat(201), /: 1 to 200 characters, not 201/],
  ['201 characters beyond 16 bits', '\u{1f511}'.repeat(201), /: 1 to 200 characters, not 201/],
  ['a million characters', 'x'.repeat(1_000_000), /: at most 200/],
  ['two lines', 'a\nb', /: no control/],
  ['NUL', 'a\u0000', /: no control/],
  ['a terminal escape', '\u001b[31ma', /: no control/],
  ['DEL', 'a\u007f', /: no control/],
  ['a C1 control', 'a\u009b', /: no control/],
  ['a right-to-left override', 'a\u202eb', /: no control, invisible/],
  ['a bidirectional isolate', '\u2066a\u2069', /: no control, invisible/],
  ['an Arabic letter mark', 'a\u061c', /: no control, invisible/],
  ['a zero-width space', 'a\u200bb', /: no control, invisible/],
  ['a zero-width joiner', 'a\u200db', /: no control, invisible/],
  ['a byte order mark', '\ufeffa', /: no control, invisible/],
  ['a soft hyphen', 'a\u00adb', /: no control, invisible/],
  ['a language tag', 'a\u{e0041}', /: no control, invisible/],
  ['a line separator', 'a\u2028b', /: no control, invisible or separator/],
  ['a paragraph separator', 'a\u2029b', /: no control, invisible or separator/],
  ['half a pair', 'a\ud800', /: .*surrogate/],
];

describe('the actor', () => {
  it.each(ODD)('causes a plain TypeError if it is %s', async (_what, actor, message) => {
    const whole = new RegExp(`^authority\\.actor${message.source}`);
    for (const [, call] of EACH_CALL) {
      await refusedAsBug((keyring) => call(keyring, authorityWith({ actor })), whole);
    }
  });
});

describe('the reason', () => {
  // The only part of an authority that a person types.
  it.each(ODD)('causes an InputError if it is %s', async (_what, reason, message) => {
    const whole = new RegExp(`^reason${message.source}`);
    for (const [, call] of EACH_CALL) {
      await refusedAsInput((keyring) => call(keyring, authorityWith({ reason })), 'reason', whole);
    }
  });
});

describe('actor and reason', () => {
  const longest = '\u{1f511}'.repeat(200);

  it('can be 200 characters of any script, and are composed', async () => {
    const { keyring, store, events } = setUp();
    const words = { actor: longest, reason: 'Zu\u0308rich: \u0643\u0644\u0645\u0629' };
    const { info } = await keyring.issue(PLAIN, { ...AUTHORITY, ...words });
    await keyring.suspend(info.keyId, { ...AUTHORITY, ...words });
    const composed = 'Z\u00fcrich: \u0643\u0644\u0645\u0629';
    expect(await rowOf(store, info.keyId)).toMatchObject({
      createdBy: longest,
      endedBy: longest,
      endReason: composed,
    });
    expect(events).toMatchObject([
      { type: 'key.issued', actor: longest, reason: composed },
      { type: 'key.suspended', actor: longest, reason: composed },
    ]);
  });

  it('are on the record of the newest end of a key', async () => {
    const { keyring, store } = setUp();
    const { info } = await keyring.issue(PLAIN, { ...AUTHORITY, actor: 'ada', reason: 'new' });
    const kept = async () => {
      const { createdBy, endedBy, endReason } = await rowOf(store, info.keyId);
      return [createdBy, endedBy, endReason];
    };
    expect(await kept()).toEqual(['ada', null, null]);
    await keyring.suspend(info.keyId, { ...AUTHORITY, actor: 'bob', reason: 'doubt' });
    expect(await kept()).toEqual(['ada', 'bob', 'doubt']);
    await keyring.resume(info.keyId, { ...AUTHORITY, actor: 'cyd', reason: 'all clear' });
    expect(await kept()).toEqual(['ada', null, null]);
    await keyring.rotate(
      info.keyId,
      { overlapMs: 1 },
      { ...AUTHORITY, actor: 'dan', reason: 'yearly' },
    );
    expect(await kept()).toEqual(['ada', 'dan', 'yearly']);
    await keyring.revoke(info.keyId, { ...AUTHORITY, actor: 'eve' });
    expect(await kept()).toEqual(['ada', 'eve', null]);
  });

  it('are null on the record and absent from the event if not given', async () => {
    const { keyring, store, events } = setUp();
    const { info } = await issue(keyring);
    await keyring.revoke(info.keyId, AUTHORITY);
    const { createdBy, endedBy, endReason } = await rowOf(store, info.keyId);
    expect([createdBy, endedBy, endReason]).toEqual([null, null, null]);
    for (const { actor, reason } of events as { actor?: string; reason?: string }[]) {
      expect([actor, reason]).toEqual([undefined, undefined]);
    }
  });

  it('come from the rotation for a successor', async () => {
    const { keyring, store } = setUp();
    const { info } = await keyring.issue(PLAIN, { ...AUTHORITY, actor: 'ada' });
    const authority = { ...AUTHORITY, actor: 'bob', reason: 'yearly' };
    const next = await keyring.rotate(info.keyId, { overlapMs: 0 }, authority);
    expect(await rowOf(store, next.info.keyId)).toMatchObject({
      createdBy: 'bob',
      endedBy: null,
      endReason: null,
    });
    expect(next.info.createdBy).toBe('bob');
  });

  it('are not stored for a withdrawal, which would show people to another entity', async () => {
    const { keyring, store, events } = setUp();
    const input = { ...PLAIN, accessibleEntities: [OTHER] };
    const { info } = await keyring.issue(input, { ...AUTHORITY, entities: [OTHER] });
    const authority = { entityId: OTHER, actor: 'people of theirs', reason: 'why they left' };
    await keyring.withdraw(info.keyId, authority);
    expect(JSON.stringify(await rowOf(store, info.keyId))).not.toMatch(/theirs|they left/);
    expect(events.at(-1)).toMatchObject({ actor: 'people of theirs', reason: 'why they left' });
  });
});
