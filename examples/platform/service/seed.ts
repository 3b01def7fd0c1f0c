/** Sample data for a new entity, the same on each machine. */
import { createHash } from 'node:crypto';
import type {
  Breadcrumb,
  Canary,
  Decoy,
  Interaction,
  Row,
  Table,
  Tables,
  Threat,
  User,
} from './records.ts';
import { CANARY_KINDS } from './records.ts';

const START = Date.UTC(2026, 0, 5, 8);
const HOUR_MS = 3_600_000;

const THREATS = 5;
const INTERACTIONS = 12;
const DECOYS = 3;
const BREADCRUMBS = 6;
const CANARIES = 3;
const USERS = 3;

/** Returns the element at an index, and starts again after the last one. */
function cycle<T>(list: readonly [T, ...T[]], index: number): T {
  return list[index % list.length] ?? list[0];
}

/** Returns a UUID (version 8, RFC 9562 §5.8) derived from the entity, the table and the index. */
function seedId(entityId: string, kind: Table, index: number): string {
  const hex = createHash('sha256').update(`${entityId}/${kind}/${index}`).digest('hex');
  const groups = [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `a${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ];
  return groups.join('-');
}

const threat = (index: number): Omit<Threat, keyof Row> => ({
  title: cycle(['Password spraying on ssh', 'Share enumeration', 'Canary credential used'], index),
  severity: cycle(['medium', 'low', 'critical', 'high'], index),
  status: cycle(['open', 'open', 'investigating'], index),
  notes: '',
});

const interaction = (entityId: string, index: number): Omit<Interaction, keyof Row> => ({
  decoy_id: seedId(entityId, 'decoys', index % DECOYS),
  threat_id: seedId(entityId, 'threats', index % THREATS),
  // Addresses and names reserved for documentation (RFC 5737, RFC 2606).
  source_ip: cycle(['192.0.2.17', '198.51.100.4', '203.0.113.99'], index),
  summary: cycle(['Login attempt as root', 'Directory listing', 'Port scan', 'File read'], index),
});

const decoy = (index: number): Omit<Decoy, keyof Row> => ({
  name: cycle(['build-07', 'files-02', 'erp-01'], index),
  kind: cycle(['ssh', 'smb', 'http'], index),
  software_version: '4.1.0',
  update_requested_at: null,
  status: 'active',
});

const breadcrumb = (entityId: string, index: number): Omit<Breadcrumb, keyof Row> => ({
  decoy_id: seedId(entityId, 'decoys', index % DECOYS),
  kind: cycle(['known_hosts', 'mapped_drive', 'browser_bookmark'], index),
  location: cycle(['laptop-114', 'laptop-203'], index),
});

const canary = (index: number): Omit<Canary, keyof Row> => ({
  name: cycle(['Salaries 2026', 'Backup credentials', 'Board minutes'], index),
  kind: cycle(CANARY_KINDS, index),
  notes: '',
  status: 'active',
});

const user = (index: number): Omit<User, keyof Row> => ({
  email: `${cycle(['ana', 'ben', 'chi'], index)}@example.com`,
  name: cycle(['Ana', 'Ben', 'Chi'], index),
  role: cycle(['admin', 'analyst', 'viewer'], index),
});

/** Returns the rows of a new entity, by table. */
export function seedRows(entityId: string): { readonly [T in Table]: readonly Tables[T][] } {
  function rows<Fields>(kind: Table, count: number, make: (index: number) => Fields) {
    return Array.from({ length: count }, (_, index): Row & Fields => ({
      id: seedId(entityId, kind, index),
      created_at: new Date(START + index * HOUR_MS).toISOString(),
      ...make(index),
    }));
  }
  return {
    threats: rows('threats', THREATS, threat),
    interactions: rows('interactions', INTERACTIONS, (index) => interaction(entityId, index)),
    decoys: rows('decoys', DECOYS, decoy),
    breadcrumbs: rows('breadcrumbs', BREADCRUMBS, (index) => breadcrumb(entityId, index)),
    canaries: rows('canaries', CANARIES, canary),
    users: rows('users', USERS, user),
  };
}
