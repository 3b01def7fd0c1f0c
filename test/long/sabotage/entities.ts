/** Safeguards of the ids of entities. */
import type { Safeguard } from './safeguard.ts';

const POSTGRES = 'test/servers/postgres/schema-entities.test.ts';

const IN_POSTGRES: readonly Safeguard[] = [
  {
    name: 'entities: PostgreSQL, binary collation',
    file: 'src/stores/postgres/schema.ts',
    text: 'accessible_entities text[] COLLATE "C"',
    instead: 'accessible_entities text[]',
    tests: 'test/servers/postgres/schema.test.ts',
  },
  {
    name: 'entities: PostgreSQL, the owner is compared exactly',
    file: 'src/stores/postgres/read-statements.ts',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: source text
    text: '(${SELECT}\n    WHERE entity_id = $1::text',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: source text
    instead: '(${SELECT}\n    WHERE lower(entity_id) = lower($1::text)',
    tests: POSTGRES,
  },
  {
    name: 'entities: PostgreSQL, who is addressed is compared exactly',
    file: 'src/stores/postgres/read-statements.ts',
    text: 'FROM keyscope_addressing\n      WHERE entity_id = $1::text',
    instead: 'FROM keyscope_addressing\n      WHERE rtrim(entity_id) = $1::text',
    tests: POSTGRES,
  },
  {
    name: 'entities: PostgreSQL, withdrawals are compared exactly',
    file: 'src/stores/postgres/statements.ts',
    text: 'array_position(withdrawn, $3::text)',
    instead: 'array_position(lower(withdrawn::text)::text[], lower($3::text))',
    tests: POSTGRES,
  },
  {
    name: 'entities: PostgreSQL, the characters of an id',
    file: 'src/stores/postgres/schema.ts',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: source text
    text: "${column} !~ '[^${CHARACTERS}]'",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: source text
    instead: "${column} !~ '[[:space:]]'",
    tests: POSTGRES,
  },
  {
    name: 'entities: PostgreSQL, the length of an id',
    file: 'src/stores/postgres/schema.ts',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: source text
    text: 'length(${column}) <= 64 AND ',
    instead: '',
    tests: POSTGRES,
  },
  {
    name: 'entities: PostgreSQL, the ids in a list',
    file: 'src/stores/postgres/schema.ts',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: source text
    text: '::varchar(64)[]::text[] = ${column}',
    instead: ' IS NOT NULL',
    tests: POSTGRES,
  },
  {
    name: 'entities: PostgreSQL, the length of the ids in a list',
    file: 'src/stores/postgres/schema.ts',
    text: '::varchar(64)[]::text[]',
    instead: '',
    tests: POSTGRES,
  },
  {
    name: 'entities: PostgreSQL, the characters of the ids in a list',
    file: 'src/stores/postgres/schema.ts',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: source text
    text: "${joined} !~ '[^,${CHARACTERS}]' AND ",
    instead: '',
    tests: POSTGRES,
  },
  {
    name: 'entities: PostgreSQL, no id in a list is empty or a dot',
    file: 'src/stores/postgres/schema.ts',
    text: ` AND NOT \${column} && '{"",.,..}'`,
    instead: '',
    tests: POSTGRES,
  },
  {
    name: 'doctor: a column of PostgreSQL with another collation',
    file: 'src/tools/cli/sql.ts',
    text: " OR collname <> 'C'",
    instead: '',
    tests: 'test/servers/cli.test.ts',
  },
];

export const ENTITIES: readonly Safeguard[] = [
  ...IN_POSTGRES,
  {
    name: 'a key is not the id of an entity',
    file: 'src/core/entity.ts',
    text: ' && !isWholeKey(value)',
    instead: '',
  },
  {
    name: 'an authority has ids of the kind of its service',
    file: 'src/management/authority.ts',
    text: 'kind.holds(entityId)',
    instead: 'ANY_ID.holds(entityId)',
    tests: 'test/core/entity.test.ts',
  },
  {
    name: 'a request names an id of the kind of its service',
    file: 'src/core/principal.ts',
    text: 'if (!holds(entityId)) throw',
    instead: "if (typeof entityId !== 'string') throw",
  },
  {
    name: 'an id of an entity with a colon: Redis',
    file: 'src/stores/redis/schema.ts',
    text: ':([^:]*):(.*)$/s.exec(member)',
    instead: ':([^:]*):([^:]*)$/s.exec(member)',
    tests: 'test/servers/redis',
  },
  {
    name: 'a prefix of keys with a part of an id: Redis',
    file: 'src/stores/redis/reads.ts',
    text: '!isPart(prefix)',
    instead: '!isText(prefix)',
    tests: 'test/servers/redis',
  },
  {
    name: 'ids that withdraw are compared byte for byte: Redis',
    file: 'src/stores/redis/scripts.ts',
    text: 'if entity == ARGV[2] then return 0 end',
    instead: 'if string.lower(entity) == string.lower(ARGV[2]) then return 0 end',
    tests: 'test/servers/redis/schema-entities.test.ts',
  },
  {
    name: 'ids that withdraw are compared byte for byte: SQLite',
    file: 'src/stores/sqlite/marks.ts',
    text: 'json_each(withdrawn) WHERE value = ?',
    instead: 'json_each(withdrawn) WHERE value = ? COLLATE NOCASE',
    tests: 'test/stores/sqlite',
  },
  {
    name: 'ids that reach others are kept as they are: SQLite',
    file: 'src/stores/sqlite/schema.ts',
    text: 'SELECT DISTINCT value, NEW.prefix',
    instead: 'SELECT DISTINCT lower(value), NEW.prefix',
    tests: 'test/stores/sqlite',
  },
  {
    name: 'CHECK of the id of an entity: SQLite, the characters',
    file: 'src/stores/sqlite/schema.ts',
    text: "entity_id NOT GLOB '*[^A-Za-z0-9._~:@|-]*'",
    instead: 'true',
    tests: 'test/stores/sqlite',
  },
  {
    name: 'CHECK of the id of an entity: SQLite, a NUL',
    file: 'src/stores/sqlite/schema.ts',
    text: 'instr(entity_id, char(0)) = 0',
    instead: 'true',
    tests: 'test/stores/sqlite',
  },
  {
    name: 'a column that folds ids is named: SQLite',
    file: 'src/tools/cli/sql.ts',
    text: "\n          AND x.coll = 'BINARY')",
    instead: ')',
    tests: 'test/tools/cli',
  },
  {
    name: 'ids of entities are not folded: MySQL',
    file: 'src/stores/mysql/schema.ts',
    text: 'entity_id VARBINARY(64) NOT NULL,\n  accessible_entities',
    instead: `entity_id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_general_ci NOT NULL,
  accessible_entities`,
    tests: 'test/servers/mysql/entity-ids.test.ts',
  },
  {
    name: 'ids of entities are not folded: MySQL, pairs',
    file: 'src/stores/mysql/schema.ts',
    text: 'entity_id VARBINARY(64) NOT NULL,\n  prefix',
    instead: `entity_id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_general_ci NOT NULL,
  prefix`,
    tests: 'test/servers/mysql/entity-ids.test.ts',
  },
  {
    name: 'the database refuses what is not the id of an entity: MySQL',
    file: 'src/stores/mysql/schema.ts',
    text: "NOT REGEXP '[^-A-Za-z0-9._~:@|]|^[.]{0,2}$'",
    instead: "REGEXP '^[-A-Za-z0-9._~:@|]+$'",
    tests: 'test/servers/mysql/entity-ids.test.ts',
  },
  {
    name: 'doctor names a column that takes one id for another: MySQL',
    file: 'src/tools/cli/sql.ts',
    text: "'entity_id'), DATA_TYPE <> 'varbinary'",
    instead: "'entity_id'), FALSE",
    tests: 'test/servers/cli-triggers.test.ts',
  },
];
