/** The text of the reference. test/outside/validators checks how Markdown renders it. */
import { readFileSync } from 'node:fs';
import { definePolicy, defineScopes } from 'keyscope';
import { scopeReference } from 'keyscope/openapi';
import { describe, expect, it } from 'vitest';
import { policy as platformPolicy } from '../../../examples/platform/service/policy.ts';
import { policy } from '../../support/openapi.ts';

const GOLDEN = new URL('../../vectors/scopes.md', import.meta.url);

describe('scopeReference', () => {
  it('writes exactly the committed file for the reference service', () => {
    const reference = scopeReference({ policy: platformPolicy });
    expect(reference).toBe(readFileSync(GOLDEN, 'utf8'));
  });

  it('marks reserved scopes, and operations that do not need a scope', () => {
    const rows = scopeReference({ policy }).split('\n');
    expect(rows).toContain('| `users:delete` | Delete users. *Reserved.* | no operation |');
    expect(rows).toContain('| `whoami` | no scope: any valid key |');
    expect(rows.join('\n')).toContain('Wildcards do not include reserved scopes');
    const plain = defineScopes({ a: { b: 'C.' } });
    const without = scopeReference({ policy: definePolicy(plain, { d: ['a:b'] }) });
    expect(without).not.toContain('eserved');
  });

  it('escapes Markdown, pipes and line ends', () => {
    const odd = defineScopes({ a: { b: 'Pipes | and <b>tags</b>, `code`, *stars* & \\.' } });
    const names = definePolicy(odd, { 'x|y\n| `z`': ['a:b'], 'GET /x': [] });
    const rows = scopeReference({ policy: names }).split('\n');
    const sentence = String.raw`Pipes \| and \<b\>tags\</b\>, \`code\`, \*stars\* \& \\.`;
    const name = '`z`'.replaceAll('`', '\\`');
    expect(rows).toContain(`| \`a:b\` | ${sentence} | x\\|y\ufffd\\| ${name} |`);
    expect(rows).toContain('| GET /x | no scope: any valid key |');
  });
});
