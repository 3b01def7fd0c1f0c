/** How untrusted texts are escaped for each place. */
import { definePolicy, defineScopes } from 'keyscope';
import {
  diffLocks,
  formatLock,
  lockContract,
  lockMarkdown,
  lockSarif,
  parseLock,
} from 'keyscope/lock';
import { scopeReference, secureDocument } from 'keyscope/openapi';
import { describe, expect, it } from 'vitest';
import {
  escapeLine,
  escapeLines,
  escapeMarkdown,
  escapeSarif,
  markdownCode,
  toJson,
  toUri,
} from '../../src/tools/escape.js';
import {
  expectPlainLine,
  expectPlainLines,
  expectPlainMarkdown,
  expectPlainMessage,
  HOSTILE_TEXTS,
} from '../support/hostile-texts.ts';
import { stepsOf } from '../support/steps.ts';

/** Each hostile text, alone and inside another text. */
const TEXTS = [...HOSTILE_TEXTS, ...HOSTILE_TEXTS.map((text) => `a ${text} z`)];

describe('escapeLine', () => {
  // Regression: a file name starting with `::error` was a command of the CI runner.
  it('writes a single line that is not a CI command', () => {
    for (const text of TEXTS) {
      expectPlainLine(escapeLine(text));
      expect(escapeLine(escapeLine(text))).toBe(escapeLine(text));
    }
    expect(escapeLine('::error::a\u001b[2J ##[b]')).toBe('\\u003a:error::a\\u001b[2J \\u0023#[b]');
  });

  it('has a variant that keeps line feeds and allows no CI command on any line', () => {
    expect(escapeLines('a\n::error::\r\nb')).toBe('a\n\\u003a:error::\\u000d\nb');
  });
});

describe('toJson', () => {
  it('writes JSON with the same meaning on one plain line', () => {
    for (const text of TEXTS) {
      const line = toJson({ [text]: [text] });
      expectPlainLine(line);
      expect(JSON.parse(line)).toEqual({ [text]: [text] });
    }
  });
});

describe('escapeMarkdown and markdownCode', () => {
  // Regression: hosts search rendered Markdown for mentions, so `\@team` notified the team.
  it('prevent formatting, links and notifications', () => {
    for (const text of TEXTS) {
      expectPlainMarkdown(escapeMarkdown(text));
      expectPlainMarkdown(markdownCode(text));
    }
    expect(escapeMarkdown('ask @acme/ops, see #12')).toBe('ask `@acme/ops`, see `#12`');
    expect(escapeMarkdown('C# & [x](y)')).toBe('C# \\& \\[x\\](y)');
  });

  // Regression: hosts limit the length of comments, so one long name hid the whole comment.
  it('shorten long texts', () => {
    expect(markdownCode('x'.repeat(1e6))).toBe(`\`${'x'.repeat(200)}…\``);
    expect(escapeMarkdown(`@${'x'.repeat(1e6)}`)).toHaveLength(203);
    expect(markdownCode('\u{1f511}'.repeat(200))).toBe(`\`${'\u{1f511}'.repeat(200)}\``);
    expect(markdownCode('\u{1f511}'.repeat(201))).toBe(`\`${'\u{1f511}'.repeat(200)}…\``);
  });

  // Regression: every character of a long name was escaped, and then all but 200 were dropped.
  it('read only the beginning of a long text in code', () => {
    expect(stepsOf(() => markdownCode('\u202e'.repeat(1e6)))).toBeLessThan(2_000);
  });
});

describe('escapeSarif and toUri', () => {
  // Regression: a key named `[x](javascript:…)` was a link in the viewer.
  it('write messages without links', () => {
    for (const text of TEXTS) expectPlainMessage(escapeSarif(text));
    expect(escapeSarif('\\[x](1)')).toBe('\\\\\\[x\\](1)');
  });

  it('write relative, well-formed addresses', () => {
    for (const text of TEXTS) expect(toUri(text)).toMatch(/^(?:[\w.!~*'()/-]|%[0-9A-F]{2})*$/);
  });
});

// ── All outputs with untrusted texts ────────────────────────────────────────────────────────────

const NONE = parseLock('{ "version": 1, "scopes": {}, "routes": {} }');

/** Makes a lock with hostile names, as anyone who can write the file could. */
function lockNaming(text: string) {
  const routes = {
    [`GET /${text}`]: { operations: [text, 'b'], scopes: [] },
    [`PUT /${text}`]: { unguarded: null, behind: [text] },
    'PUT /why': { unguarded: REASONS.includes(text) ? text : 'why' },
  };
  return parseLock(JSON.stringify({ version: 1, scopes: {}, routes }));
}

const REASONS = HOSTILE_TEXTS.filter((text) => /^[ -~]{1,400}$/.test(text));

describe('the outputs of a lock', () => {
  it.each(HOSTILE_TEXTS)('show %j as plain text', async (text) => {
    const lock = lockNaming(text);
    const key = { keyId: text, prefix: text, hint: text, name: text, entityId: text };
    const diff = diffLocks(NONE, lock, { keys: [{ ...key, scopes: [text] }] });
    const lines = lockMarkdown(diff).split('\n');
    for (const line of lines) expectPlainMarkdown(line.replace(/^(?:- |### )/, ''));
    const log = lockSarif(diff, { lock, path: text }) as SarifLog;
    for (const { message, locations } of log.runs[0].results) {
      expectPlainMessage(message.text);
      const { artifactLocation, region } = locations[0].physicalLocation;
      expect(artifactLocation.uri).toBe(toUri(text));
      expect(formatLock(lock).split('\n')[region.startLine - 1]).toMatch(/^ {4}"(?:GET|PUT) /);
    }
    expectPlainLines(formatLock(lock));
    expect(parseLock(formatLock(lock))).toEqual(lock);
    for (const { message } of await failuresOf(lock)) expectPlainLines(message);
  });

  async function failuresOf(lock: ReturnType<typeof lockNaming>): Promise<readonly Error[]> {
    const tests: (() => Promise<void>)[] = [];
    const committed = formatLock(lock);
    lockContract(
      (_, body) => tests.push(body),
      () => ({ committed, lock }),
    );
    const outcomes = await Promise.allSettled(tests.map((body) => body()));
    return outcomes.flatMap((each) => (each.status === 'rejected' ? [each.reason as Error] : []));
  }
});

interface SarifLog {
  readonly runs: readonly [
    {
      readonly results: readonly {
        readonly message: { readonly text: string };
        readonly locations: readonly [
          {
            readonly physicalLocation: {
              readonly artifactLocation: { readonly uri: string };
              readonly region: { readonly startLine: number };
            };
          },
        ];
      }[];
    },
  ];
}

describe('a reference and a document', () => {
  it.each(HOSTILE_TEXTS)('show %j as plain text', (text) => {
    const catalog = defineScopes({ a: { b: REASONS.includes(text) ? text : 'Read.' } });
    const policy = definePolicy(catalog, { [text || 'none']: ['a:b'], named: [] });
    const cells = scopeReference({ policy }).split('\n').flatMap(cellsOf);
    for (const cell of cells) expectPlainMarkdown(cell);
    const paths = { '/a': { get: { operationId: text || 'none' }, put: { operationId: 'named' } } };
    const { components } = secureDocument(
      { openapi: '3.1.0', paths, components: { securitySchemes: {} } },
      { policy },
    ) as unknown as Secured;
    const [, , ...lines] = components.securitySchemes.bearerAuth.description.split('\n');
    for (const line of lines) expectPlainMarkdown(line.replace(/^- /, ''));
    const other = { '/a': { get: { operationId: text }, put: { operationId: `${text}?` } } };
    const document = { openapi: '3.1.0', paths: other };
    const secured = () => secureDocument(document, { policy });
    expectPlainLines(messageOf(secured));
  });

  const cellsOf = (line: string) =>
    line.split(/(?<!\\)\|/).filter((cell) => !/^\s*-*\s*$/.test(cell));

  function messageOf(act: () => unknown): string {
    try {
      act();
    } catch (error) {
      if (error instanceof TypeError) return error.message;
    }
    throw new Error('no TypeError');
  }
});

interface Secured {
  readonly components: {
    readonly securitySchemes: { readonly bearerAuth: { readonly description: string } };
  };
}
