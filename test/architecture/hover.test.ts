/**
 * Pointing at one of the package's types in an editor shows prose, not the type of an
 * implementation. Each run prints the texts.
 */
import { afterAll, describe, expect, it } from 'vitest';
import { type Hover, type Member, openProject } from '../support/user-project.ts';

const project = openProject(`
  import { type Catalog, defineScopes } from 'keyscope';
  import type { KeyRecord, KeyringEvent, Principal } from 'keyscope';

  export const catalog = defineScopes({
    threats: { read: 'List and read threats.', write: 'Create and change threats.' },
    users: { delete: 'Delete users.' },
  }, { reserved: ['users:*'] });

  export type Names = [Catalog, KeyRecord, KeyringEvent, Principal];
`);

const shown: string[] = [];
afterAll(() => console.log(`what an editor shows\n\n${shown.join('\n\n')}\n`));

function show(hover: Hover, members: readonly Member[] = []): void {
  const lines = members.map(
    ({ name, signature, documentation }) => `  ${name}: ${signature}\n    ${documentation}`,
  );
  shown.push([hover.signature, hover.documentation, ...lines].join('\n'));
}

/** At least one sentence: a capital or a literal, some words, a full stop. */
function isProse(documentation: string): boolean {
  return /^[A-Z0-9`'].{8,}[.:!?)`]$/s.test(documentation.trim());
}

describe('a hover', () => {
  it('starts from a file that compiles', () => {
    expect(project.errors()).toEqual([]);
  });

  it.each(['KeyRecord', 'Principal'])(
    'on %s shows an interface with a sentence for each field',
    (name) => {
      const hover = project.hoverOver(name);
      const members = project.membersOf(name);
      show(hover, members);
      expect(hover.signature).toMatch(new RegExp(`^interface ${name}(?:<.+>)?$`));
      expect(isProse(hover.documentation)).toBe(true);
      expect(members.length).toBeGreaterThan(7);
      expect(undocumented(members)).toEqual([]);
    },
  );

  it('on KeyringEvent shows the events with a sentence for each field', () => {
    const hover = project.hoverOver('KeyringEvent');
    const members = project.membersOf('KeyringEvent');
    show(hover, members);
    expect(isProse(hover.documentation)).toBe(true);
    expect(members.filter(({ name }) => name === 'type').length).toBeGreaterThan(3);
    expect(undocumented(members)).toEqual([]);
    // Named parts instead of the fields of each.
    expect(hover.signature).toMatch(/^type KeyringEvent = \w+(?: \| \w+)+$/);
  });

  it('on Catalog shows an interface with a sentence for each field', () => {
    const hover = project.hoverOver('Catalog');
    const members = project.membersOf('Catalog');
    show(hover, members);
    expect(hover.signature).toMatch(/^interface Catalog</);
    expect(isProse(hover.documentation)).toBe(true);
    expect(undocumented(members)).toEqual([]);
  });

  it('on a catalog shows the union of its scopes without their sentences', () => {
    const hover = project.hoverOver('catalog');
    show(hover);
    const scopes = '"threats:read" | "threats:write" | "users:delete"';
    expect(hover.signature).toBe(`const catalog: Catalog<${scopes}, "users:delete">`);
  });
});

function undocumented(members: readonly Member[]): readonly string[] {
  return members.filter(({ documentation }) => !isProse(documentation)).map(({ name }) => name);
}

describe('the checks of this file', () => {
  it('recognize a sentence', () => {
    expect(isProse('Lower case, 36 characters.')).toBe(true);
    expect(isProse('`null`: never.')).toBe(true);
    for (const text of ['', '.', 'TODO', 'x', 'id']) expect(isProse(text)).toBe(false);
  });

  it('tell written types from inferred ones', () => {
    const inferred = openProject(
      `
      const TABLE = { keyId: 'a' };
      export type Inferred = { readonly [F in keyof typeof TABLE]: string };
      /** A written type. */
      export interface Written { /** Of the key. */ readonly keyId: string }
      /** One of two. */
      export type Named = Written | Other;
      interface Other { readonly type: 'other' }
    `,
    );
    expect(inferred.hoverOver('Inferred')).toEqual({
      signature: 'type Inferred = {\n    readonly keyId: string;\n}',
      documentation: '',
    });
    expect(inferred.hoverOver('Written')).toEqual({
      signature: 'interface Written',
      documentation: 'A written type.',
    });
    expect(inferred.hoverOver('Named').signature).toBe('type Named = Written | Other');
  });
});
