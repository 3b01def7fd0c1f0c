/** Look-ups in progress, which later requests for the same key join. */
import { setBounded } from './bounded-map.js';
import { isYounger, type Rows } from './entry.js';
import type { CacheSettings } from './options.js';

/** How many look-ups in progress can be joined. */
const MAX_FLIGHTS = 1_024;

/** For how long one can be joined, in milliseconds: one that hangs delays no later request. */
const JOIN_MS = 1_000;

interface Flight {
  /** The time before the look-up was sent. */
  readonly since: number;
  readonly rows: Promise<Rows>;
}

/** The look-ups in progress, by name. */
export interface Flights {
  /** The answer of a look-up in progress, if there is one that may be joined. */
  join(name: string): Promise<Rows> | undefined;
  /** Lets others join a look-up until it is answered. */
  add(name: string, since: number, rows: Promise<Rows>): void;
  /** Lets nobody join the present ones any more; they answer only those who joined before. */
  clear(): void;
}

/** Starts with no look-ups in progress. */
export function createFlights(settings: CacheSettings): Flights {
  const flights = new Map<string, Flight>();
  const canJoin = !isCloudflareWorkers();

  function join(name: string): Promise<Rows> | undefined {
    const flight = flights.get(name);
    if (flight === undefined || !isYounger(flight.since, JOIN_MS, settings)) return undefined;
    return flight.rows;
  }

  function add(name: string, since: number, rows: Promise<Rows>): void {
    const flight: Flight = { since, rows };
    if (canJoin) setBounded(flights, name, flight, MAX_FLIGHTS);
    const landed = (): void => {
      // Another one may have taken its place.
      if (flights.get(name) === flight) flights.delete(name);
    };
    // Whoever asked is told of an error; here it is only the end.
    void rows.then(landed, landed);
  }

  return { join, add, clear: () => flights.clear() };
}

/**
 * There, a query ends with the request that sent it: others that joined it would wait in vain.
 */
function isCloudflareWorkers(): boolean {
  return globalThis.navigator?.userAgent === 'Cloudflare-Workers';
}
