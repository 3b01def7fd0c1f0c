/**
 * Checks a secured document and the reference with third-party readers. The first validator is in
 * test/examples/openapi.test.ts.
 */
import fc from 'fast-check';
import { definePolicy, defineScopes } from 'keyscope';
import { scopeReference, secureDocument } from 'keyscope/openapi';
import { expect, it } from 'vitest';
import { openApi } from '../../../examples/platform/host/openapi.ts';
import { installedIn } from '../../support/installed.ts';
import { documentOf, operation, PATHS, policy } from '../../support/openapi.ts';

interface Parser {
  validate(document: object): Promise<{ readonly valid: boolean; readonly errors?: unknown }>;
}
interface Token {
  readonly type: string;
  readonly text?: string;
  readonly tokens?: readonly Token[];
  readonly rows?: readonly (readonly { readonly tokens: readonly Token[] }[])[];
}
interface Marked {
  readonly marked: { lexer(markdown: string): readonly Token[] };
}

const { describe, load } = installedIn('outside', 'marked');

describe('@readme/openapi-parser', () => {
  const validate = async (document: object) => {
    const parser = (await load('@readme/openapi-parser')) as Parser;
    // The validator modifies its input.
    const { valid, errors = [] } = await parser.validate(structuredClone(document));
    return { valid, errors };
  };

  it('accepts the document of the reference service', async () => {
    expect(await validate(openApi('https://x.example'))).toEqual({ valid: true, errors: [] });
  });

  it('accepts responses of two kinds', async () => {
    const content = { 'application/problem+json': { schema: { type: 'object' } } };
    const own = { description: 'Own.', content };
    const responses = { 200: { description: 'OK' }, 400: own, default: own };
    const get = operation('listThreats', { responses });
    const document = documentOf({ ...PATHS, '/threats': { get } });
    const secured = secureDocument(document, { policy, prefix: 'acme', realm: 'acme' });
    expect(await validate(secured)).toEqual({ valid: true, errors: [] });
  });

  it('rejects an invalid document', async () => {
    const { valid } = await validate({ ...openApi('https://x.example'), paths: { x: 1 } });
    expect(valid).toBe(false);
  });
});

describe('marked', () => {
  /** The text that a reader sees. */
  const shown = ({ tokens, text = '' }: Token): string =>
    tokens === undefined ? unescaped(text) : tokens.map(shown).join('');
  // The lexer leaves entities to the renderer.
  const unescaped = (text: string): string =>
    text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&quot;', '"');

  const tablesOf = async (markdown: string) => {
    const { marked } = (await load('marked')) as Marked;
    const tokens = marked.lexer(markdown);
    return tokens
      .filter(({ type }) => type === 'table')
      .map(({ rows = [] }) =>
        rows.map((cells) => cells.map((cell) => cell.tokens.map(shown).join(''))),
      );
  };

  it('shows every scope and every operation in a separate row, under its name', async () => {
    const text = fc.string({
      unit: fc.constantFrom(...'ab |\\`*_<>[]()#&!~$\n{}+-.'),
      maxLength: 12,
    });
    // Surrounded by letters, because a cell ignores spaces at its ends.
    const name = text.map((given) => `x${given}x`);
    const sentences = name.map((given) => given.replaceAll('\n', ' '));
    await fc.assert(
      fc.asyncProperty(
        sentences,
        fc.uniqueArray(name, { minLength: 1, maxLength: 4 }),
        async (sentence, names) => {
          const odd = defineScopes({ a: { b: sentence } });
          const table = Object.fromEntries(names.map((one) => [one, ['a:b' as const]]));
          const [scopes, operations] = await tablesOf(
            scopeReference({ policy: definePolicy(odd, table) }),
          );
          const called = names.map((one) => one.replaceAll('\n', '\ufffd'));
          expect(scopes).toEqual([['a:b', sentence, called.join(', ')]]);
          expect(operations).toEqual(called.map((one) => [one, 'a:b']));
        },
      ),
    );
  });
});
