/** The platform's rows: entities are separate, and repeated operations are harmless. */
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test, vi } from 'vitest';
import { Conflict, createDomain } from '../../examples/platform/service/domain.ts';
import { A, B, C } from './http-harness.ts';

const TABLES = ['threats', 'interactions', 'decoys', 'breadcrumbs', 'canaries', 'users'];

describe('the domain, between entities,', () => {
  function domainOf() {
    const db = new DatabaseSync(':memory:');
    const domain = createDomain(db);
    for (const entity of [A, B]) domain.seed(entity);
    const rows = (entity: string) =>
      JSON.stringify(
        TABLES.map((table) =>
          db.prepare(`SELECT * FROM ${table} WHERE entity_uuid = ?`).all(entity),
        ),
      );
    return { db, domain, rows };
  }
  const all = { limit: 100, after: null };

  test('shows only the rows of one entity in lists and reports', () => {
    const { domain } = domainOf();
    const lists = [
      domain.listThreats,
      domain.listInteractions,
      domain.listDecoys,
      domain.listCanaries,
      domain.listUsers,
    ];
    for (const list of lists) {
      const idsOf = (entity: string) => list(entity, all).items.map(({ id }) => id);
      const ofB = idsOf(B);
      expect(idsOf(A).length).toBeGreaterThan(0);
      expect(idsOf(A).filter((id) => ofB.includes(id))).toEqual([]);
      expect(list(C, all)).toEqual({ items: [], next: null });
    }
    expect(domain.exportReport(A).interactions).toBe(12);
    expect(domain.exportReport(C)).toMatchObject({
      interactions: 0,
      top_sources: [],
      threats_by_status: {},
    });
  });

  test('finds and changes nothing with the ids of another entity', () => {
    const { domain, rows } = domainOf();
    const before = rows(B);
    const id = (page: { readonly items: readonly { readonly id: string }[] }) =>
      page.items[0]?.id ?? '';
    const threat = id(domain.listThreats(B, all));
    const interaction = id(domain.listInteractions(B, all));
    const decoy = id(domain.listDecoys(B, all));
    const canary = id(domain.listCanaries(B, all));
    const user = id(domain.listUsers(B, all));
    const asB = [
      domain.readThreat(B, threat),
      domain.readDecoy(B, decoy),
      domain.readUser(B, user),
    ];
    expect(asB).not.toContain(null);
    expect([
      domain.readThreat(A, threat),
      domain.updateThreat(A, threat, { status: 'dismissed' }),
      domain.readInteraction(A, interaction),
      domain.readDecoy(A, decoy),
      domain.updateDecoy(A, decoy),
      domain.readCanary(A, canary),
      domain.updateCanary(A, canary, { notes: 'x' }),
      domain.readUser(A, user),
    ]).toEqual(Array(8).fill(null));
    const ended = [
      domain.decommissionDecoy(A, decoy),
      domain.decommissionCanary(A, canary),
      domain.deleteUser(A, user),
    ];
    expect(ended).toEqual([false, false, false]);
    domain.createCanary(A, { name: 'n', kind: 'dns', notes: '' });
    domain.createUser(A, { email: 'new@example.com', name: 'n', role: 'viewer' });
    expect(rows(B)).toBe(before);
  });

  test('names the entity in every statement on rows', () => {
    const { db, domain } = domainOf();
    const statements: string[] = [];
    const prepare = db.prepare.bind(db);
    vi.spyOn(db, 'prepare').mockImplementation((sql, ...rest) => {
      statements.push(sql);
      return prepare(sql, ...rest);
    });
    const change = { status: 'open', notes: 'x' } as const;
    for (const [name, call] of Object.entries(domain)) {
      if (name === 'exportReport') domain.exportReport(A);
      else if (name.startsWith('list')) (call as typeof domain.listThreats)(A, all);
      else if (name === 'createCanary')
        domain.createCanary(A, { name: 'n', kind: 'dns', notes: '' });
      else if (name === 'createUser')
        domain.createUser(A, { email: 'e@example.com', name: 'n', role: 'viewer' });
      else (call as typeof domain.updateThreat)(A, 'x', change);
    }
    expect(statements.length).toBeGreaterThan(20);
    const byEntity = /^INSERT INTO \w+ \(entity_uuid, |\bWHERE entity_uuid = (\?|:entity)/;
    expect(statements.filter((sql) => !byEntity.test(sql))).toEqual([]);
  });

  test('writes no value that is not text', () => {
    const { domain } = domainOf();
    expect(() => domain.listThreats(undefined as unknown as string, all)).toThrow();
    expect(() => domain.deleteUser(A, undefined as unknown as string)).toThrow();
  });
});

describe('the domain', () => {
  test('seeds the same rows on each machine, and only once', () => {
    const dump = (times: number) => {
      const db = new DatabaseSync(':memory:');
      const domain = createDomain(db);
      for (let i = 0; i < times; i++) domain.seed(A);
      return TABLES.map((table) => db.prepare(`SELECT * FROM ${table}`).all());
    };
    expect(dump(2)).toEqual(dump(1));
    expect(dump(1).map((rows) => rows.length)).toEqual([5, 12, 3, 6, 3, 3]);
  });

  test('does not change decommissioned rows, and can decommission them again', () => {
    const domain = createDomain(new DatabaseSync(':memory:'), { now: () => 0 });
    domain.seed(A);
    const newest = { limit: 1, after: null };
    const decoy = domain.listDecoys(A, newest).items[0]?.id ?? '';
    const canary = domain.listCanaries(A, newest).items[0]?.id ?? '';
    expect(domain.updateDecoy(A, decoy)).toMatchObject({
      update_requested_at: '1970-01-01T00:00:00.000Z',
    });
    expect([domain.decommissionDecoy(A, decoy), domain.decommissionDecoy(A, decoy)]).toEqual([
      true,
      true,
    ]);
    expect([domain.decommissionCanary(A, canary), domain.decommissionCanary(A, canary)]).toEqual([
      true,
      true,
    ]);
    expect(() => domain.updateDecoy(A, decoy)).toThrow(Conflict);
    expect(() => domain.updateCanary(A, canary, { notes: 'x' })).toThrow(Conflict);
    expect(domain.readDecoy(A, decoy)).toMatchObject({
      status: 'decommissioned',
      breadcrumbs: [{}, {}],
    });
  });

  test('changes only the given columns', () => {
    const domain = createDomain(new DatabaseSync(':memory:'));
    domain.seed(A);
    const threat = domain.listThreats(A, { limit: 1, after: null }).items[0];
    domain.updateThreat(A, threat?.id ?? '', { notes: 'seen' });
    const changed = domain.updateThreat(A, threat?.id ?? '', {
      status: 'resolved',
      notes: undefined,
    });
    expect(changed).toEqual({ ...threat, status: 'resolved', notes: 'seen' });
  });

  test('allows an email once per entity, and again after the user was deleted', () => {
    const domain = createDomain(new DatabaseSync(':memory:'));
    const user = { email: 'a@example.com', name: 'A', role: 'viewer' } as const;
    const { id } = domain.createUser(A, user);
    expect(domain.createUser(B, user).id).not.toBe(id);
    expect(() => domain.createUser(A, user)).toThrow(Conflict);
    expect([domain.deleteUser(A, id), domain.deleteUser(A, id)]).toEqual([true, false]);
    expect(domain.createUser(A, user)).toMatchObject(user);
  });
});
