/** The pattern of docs/testing.md that makes Jest transform the package, in three layouts. */
import { expect, test } from 'vitest';
import { readProjectFile } from '../support/source.ts';

const PAGE = readProjectFile('docs/testing.md');
const [, PRINTED = ''] = /transformIgnorePatterns: \['([^']+)'\]/.exec(PAGE) ?? [];
// As JavaScript reads the text.
const IGNORED = new RegExp(PRINTED.replaceAll('\\\\', '\\'));

const FLAT = '/app/node_modules';
const PNPM = '/app/node_modules/.pnpm';

test.each([
  `${FLAT}/keyscope/dist/index.js`,
  `${FLAT}/jose/dist/webapi/index.js`,
  `${FLAT}/@noble/hashes/sha2.js`,
  `${FLAT}/keyscope/node_modules/jose/dist/webapi/index.js`,
  `${PNPM}/keyscope@1.0.0/node_modules/keyscope/dist/index.js`,
  `${PNPM}/jose@6.2.17/node_modules/jose/dist/webapi/index.js`,
  `${PNPM}/@noble+hashes@2.4.0/node_modules/@noble/hashes/sha2.js`,
])('Jest transforms %s', (path) => {
  expect(IGNORED.test(path)).toBe(false);
});

test.each([
  `${FLAT}/express/index.js`,
  `${FLAT}/keyscope-other/index.js`,
  `${FLAT}/keyscope/node_modules/zod/index.cjs`,
  `${PNPM}/express@5.1.0/node_modules/express/index.js`,
  `${PNPM}/keyscope@1.0.0/node_modules/zod/index.cjs`,
])('Jest does not transform %s', (path) => {
  expect(IGNORED.test(path)).toBe(true);
});
