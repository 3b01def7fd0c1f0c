/** Whether a server is there: what needs one is skipped, by name, where there is none. */
import { connect } from 'node:net';

const PORTS: Readonly<Record<string, number>> = {
  'postgres:': 5432,
  'mysql:': 3306,
  'redis:': 6379,
};

/** Whether somebody listens at the address of a database. */
export async function isThere(url: string | null): Promise<boolean> {
  if (url === null) return true;
  const { protocol, hostname, port } = new URL(url);
  return new Promise((resolve) => {
    const known = port === '' ? PORTS[protocol] : Number(port);
    const socket = connect({ host: hostname, port: known ?? 5432, timeout: 2000 });
    function end(answer: boolean): void {
      socket.destroy();
      resolve(answer);
    }
    socket.on('connect', () => end(true));
    socket.on('error', () => end(false));
    socket.on('timeout', () => end(false));
  });
}
