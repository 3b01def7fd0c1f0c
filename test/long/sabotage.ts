/**
 * `npm run test:sabotage`: switches one safeguard off at a time, in a copy of the repository, and runs the tests.
 * Each must fail: a safeguard that can be taken out unnoticed is not tested. Prints which test noticed.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

// biome-ignore-start lint/suspicious/noTemplateCurlyInString: source text
// The safeguard, the file, and what is replaced by what. The text must stand in the file exactly once.
const SAFEGUARDS: readonly (readonly [string, string, string, string])[] = [
  ['checksum', 'src/key.ts', "? null : 'wrong_checksum'", '? null : null'],
  ['seal check', 'src/verify.ts', "if (!genuine) throw refuse('record_tampered', record.keyId);", ''],
  [
    'result of the comparison',
    'src/verify.ts',
    'if (!digests.some((digest) => equalText(record.digest, digest))) continue;',
    '',
  ],
  ['exactly one match', 'src/verify.ts', 'if (found) throw new StoreError(', 'if (false) throw new StoreError('],
  ['revoked', 'src/verify.ts', 'if (revokedAt !== null)', 'if (false)'],
  ['retired', 'src/verify.ts', 'if (retireAt !== null && now >= retireAt)', 'if (false)'],
  ['expired', 'src/verify.ts', 'if (expiresAt !== null && now >= expiresAt)', 'if (false)'],
  ['deadline is exclusive', 'src/verify.ts', 'now >= expiresAt', 'now > expiresAt'],
  ['entity check', 'src/principal.ts', 'if (!reached) throw', 'if (false) throw'],
  ['repeated entity', 'src/policy.ts', 'asked.length < 2 ? asked[0]', 'true ? asked[0]'],
  ['scope check', 'src/policy.ts', 'if (scopes.length > 0) requireScopes(principal, ...scopes);', ''],
  ['authority over scopes', 'src/context.ts', 'if (scopes.length > 0) throw', 'if (false) throw'],
  ['authority over entities', 'src/context.ts', 'if (excess.length > 0) throw', 'if (false) throw'],
  ['authority on rotation', 'src/rotate.ts', '  requireCeiling(by, old);\n', ''],
  ['no wildcard reaches reserved scopes', 'src/issue.ts', 'expect(caught.length === 0, ', 'expect(true, '],
  ['reserved scopes want a justification', 'src/issue.ts', 'reserved.length === 0 || justified', 'true'],
  ['unknown fields are refused', 'src/input.ts', 'if (!known.includes(name as string))', 'if (false)'],
  ['two credentials are refused', 'src/authorization.ts', 'if (length > 1 || typeof', 'if (typeof'],
  [
    'joined credentials are refused',
    'src/authorization.ts',
    '`^Bearer(?: +(${TOKEN68}))?$`',
    '`^Bearer(?: +(${TOKEN68}))?`',
  ],
  ['no-store on denials', 'src/challenge.ts', ", 'Cache-Control': 'no-store' }", ' }'],
  ['no-store on success: Express', 'examples/express/adapter.ts', "'no-store'", "'private'"],
  ['no-store on success: Fastify', 'examples/fastify/adapter.ts', "'no-store'", "'private'"],
  ['no-store on success: Hono', 'examples/hono/adapter.ts', "'no-store'", "'private'"],
  ['verification before rotation', 'src/rotate.ts', '  admit(old);\n', ''],
  [
    'the conditional write decides',
    'src/rotate.ts',
    'if (!(await store.markEnded(keyId, { retireAt }))) {',
    'await store.markEnded(keyId, { retireAt });\n  if (false) {',
  ],
  ['another entity’s key is not found', 'src/context.ts', 'row?.entityUuid === by.entityUuid', 'row !== null'],
  ['a stored * refuses the record', 'src/record.ts', " && !(scope as string).includes('*')", ''],
  ['scopes that the catalog lost grant nothing', 'src/principal.ts', 'catalog.has(scope)', 'catalog !== null'],
  ['a store in time', 'src/outage.ts', 'reject(broken(`did not answer within ${timeoutMs} ms`))', 'resolve([])'],
  ['a clock that answers', 'src/outage.ts', '!Number.isFinite(time) || Math.abs(time) > LATEST', 'false'],
];
// biome-ignore-end lint/suspicious/noTemplateCurlyInString: source text

const root = resolve(import.meta.dirname, '../..');
const copy = mkdtempSync(join(tmpdir(), 'keyscope-sabotage-'));
const unnoticed: string[] = [];
try {
  for (const part of ['src', 'test', 'examples', 'package.json', 'tsconfig.json', 'vitest.config.ts', 'README.md']) {
    cpSync(join(root, part), join(copy, part), { recursive: true });
  }
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  for (const [name, file, text] of SAFEGUARDS) {
    const found = readFileSync(join(copy, file), 'utf8').split(text).length - 1;
    if (found !== 1) throw new Error(`${name}: stands ${found} times in ${file}, not once: ${text}`);
  }
  for (const [name, file, text, replacement] of SAFEGUARDS) {
    const path = join(copy, file);
    const source = readFileSync(path, 'utf8');
    writeFileSync(path, source.split(text).join(replacement));
    // What is taken out makes the compiler complain, never the tests' tool: types are stripped, not checked.
    const args = ['run', '--bail=1', '--reporter=dot', '--exclude=test/architecture.test.ts'];
    const env = { ...process.env, NO_COLOR: '1' };
    const { status, stdout, stderr } = spawnSync(join(root, 'node_modules/.bin/vitest'), args, {
      cwd: copy,
      env,
      encoding: 'utf8',
    });
    writeFileSync(path, source);
    const noticed = `${stderr}\n${stdout}`.match(/FAIL\s+(.+)/)?.[1];
    if (status === 0 || noticed === undefined) unnoticed.push(name);
    console.log(`${status === 0 || !noticed ? 'UNNOTICED' : 'noticed  '}  ${name.padEnd(44)} ${noticed ?? ''}`);
  }
} finally {
  rmSync(copy, { recursive: true, force: true });
}
console.log(`\n${SAFEGUARDS.length - unnoticed.length} of ${SAFEGUARDS.length} noticed`);
if (unnoticed.length > 0) process.exit(1);
