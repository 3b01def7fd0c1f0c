/** All accidents, in the order of the table. */
import type { Accident } from './accident.ts';
import { CLOCK } from './clock.ts';
import { GALERA } from './galera.ts';
import { MYSQL_LOCKS } from './mysql-locks.ts';
import { MYSQL_SERVERS } from './mysql-servers.ts';
import { NETWORK } from './network.ts';
import { POSTGRES_FAILOVER } from './postgres-failover.ts';
import { POSTGRES_LOCKS } from './postgres-locks.ts';
import { POSTGRES_PGBOUNCER } from './postgres-pgbouncer.ts';
import { POSTGRES_SERVER } from './postgres-server.ts';
import { REDIS } from './redis.ts';
import { REDIS_FAILOVER } from './redis-failover.ts';
import { REDIS_STAGED } from './redis-staged.ts';
import { SQLITE } from './sqlite.ts';

export const ACCIDENTS: readonly Accident[] = [
  ...NETWORK,
  ...POSTGRES_LOCKS,
  ...POSTGRES_SERVER,
  ...POSTGRES_FAILOVER,
  ...POSTGRES_PGBOUNCER,
  ...MYSQL_LOCKS,
  ...MYSQL_SERVERS,
  ...GALERA,
  ...REDIS,
  ...REDIS_STAGED,
  ...REDIS_FAILOVER,
  ...SQLITE,
  ...CLOCK,
];
