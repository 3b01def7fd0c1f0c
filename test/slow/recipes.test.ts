/** All recipes of docs/recipes.md. Each recipe also has a test file in `test/recipes`. */
import { describe, expect, test } from 'vitest';
import { writeRecipes } from '../support/recipes.ts';
import { readProjectFile } from '../support/source.ts';

const PAGE = 'docs/recipes.md';
const FILES = [
  'header.ts',
  'modes.ts',
  'networks.ts',
  'persons.ts',
  'limits.ts',
  'failures.ts',
  'cors.ts',
  'sockets.ts',
  'lambda.ts',
  'authorizers.ts',
  'jobs.ts',
] as const;

/** The files that users copy next to the recipe. */
const COPIED = {
  'adapter.ts': 'examples/hono/adapter.ts',
  'express-adapter.ts': 'examples/express/adapter.ts',
  'client-address.ts': 'examples/more/client-address.ts',
};

test('every recipe is a file with a name', () => {
  const first = readProjectFile(PAGE).matchAll(/^```ts\n(.*)/gm);
  expect(Array.from(first, ([, line]) => line)).toEqual(FILES.map((name) => `// ${name}`));
});

describe('the recipes', () => {
  test("compile under this project's rules", () => {
    const recipes = writeRecipes(PAGE, 'test/recipes', FILES, COPIED);
    const complaints = recipes.complaints();
    recipes.remove();
    expect(complaints).toEqual([]);
  });
});
