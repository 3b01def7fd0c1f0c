/** Connects two processes to a MariaDB, and describes the shared server. */
import { mysqlStore } from 'keyscope/stores/mysql';
import mysql from 'mysql2/promise';
import type { OwnMariadb } from '../support/mariadb-servers.ts';
import { emptyDatabase } from '../support/mysql-clients.ts';
import type { Address } from '../support/tcp-proxy.ts';
import type { Host, Visit } from './place.ts';

/** Two processes with a pool each. */
export interface MysqlVisit extends Visit {
  readonly pools: readonly mysql.Pool[];
}

/** The user to connect as, and the database. */
export interface MysqlLogin {
  readonly user: string;
  readonly password: string;
  readonly database: string;
}

/**
 * For the test's own servers: the rights of a service, which cannot write to a read-only server.
 */
export const SERVICE: MysqlLogin = { user: 'service', password: 'x', database: 'test' };

/** Creates the user and its database. */
export async function admitService({ rows }: OwnMariadb): Promise<void> {
  const { user, password, database } = SERVICE;
  await rows(`CREATE DATABASE ${database}`);
  await rows(`CREATE USER ${user} IDENTIFIED BY '${password}'`);
  await rows(`GRANT ALL ON ${database}.* TO ${user}`);
}

function openPool(address: Address, login: MysqlLogin): mysql.Pool {
  return mysql.createPool({
    ...login,
    ...address,
    charset: 'utf8mb4',
    connectTimeout: 2_000,
    connectionLimit: 10,
  });
}

/** @param guarded The address for the process that answers requests, if it differs. */
export function visitWithMysql2(
  managed: Address,
  login: MysqlLogin = SERVICE,
  guarded: Address = managed,
): MysqlVisit {
  const managing = openPool(managed, login);
  const guarding = openPool(guarded, login);
  return {
    managing: mysqlStore(managing),
    guarding: mysqlStore(guarding),
    pools: [managing, guarding],
    // Connections broken by an accident cannot close cleanly.
    close: () => Promise.allSettled([managing.end(), guarding.end()]),
  };
}

/** A port of this machine. */
export function at(port: number): Address {
  return { host: '127.0.0.1', port };
}

export async function mysqlHost(): Promise<Host> {
  const { settings, drop } = await emptyDatabase();
  const { host, port, ...login } = settings;
  return {
    address: { host, port },
    visit: async (by) => visitWithMysql2(at(by), login),
    remove: drop,
  };
}
