/**
 * A proxy in front of a server that can delay, stall, drop or cut the traffic. If you only need
 * connections to come and go, use `door.ts`.
 */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** The address of a server. */
export interface Address {
  readonly host: string;
  readonly port: number;
}

/** One direction of the traffic: from clients, or from the server. */
export type Direction = 'questions' | 'answers';

/** A proxy to a server. */
export interface TcpProxy {
  readonly port: number;
  /** Delays all later traffic by this many milliseconds in each direction. */
  delay(milliseconds: number): void;
  /** While true, nothing arrives on either side and no connection ends; everything hangs. */
  stall(isStalled: boolean): void;
  /**
   * While set, drops one direction, including the end of a connection. A connection that has lost
   * data stays dead, because TCP skips nothing: like a firewall that forgot the connection.
   */
  lose(direction: Direction | null): void;
  /** Ends the server's side of each connection. Data from clients still arrives. */
  halfClose(): void;
  /** Ends all connections. New ones are accepted. */
  cut(): void;
  /** Ends all connections and sends new ones to this address: another server takes over. */
  turnTo(address: Address): void;
  /** The number of connections. */
  connections(): number;
  /** Ends all connections and stops listening. */
  close(): Promise<void>;
}

/** The conditions that apply to all lines. */
interface Weather {
  oneWay: number;
  isStalled: boolean;
  lost: Direction | null;
}

/** Data, or `null` for the end. */
type Chunk = Buffer | null;

/** One direction of a connection. Chunks arrive in order, each after its delay. */
class Line {
  readonly direction: Direction;
  readonly #to: Socket;
  readonly #weather: Weather;
  readonly #chunks: { readonly due: number; readonly chunk: Chunk }[] = [];
  #timer: NodeJS.Timeout | undefined;
  #isLost = false;

  constructor(direction: Direction, to: Socket, weather: Weather) {
    this.direction = direction;
    this.#to = to;
    this.#weather = weather;
  }

  put(chunk: Chunk): void {
    if (this.#weather.lost === this.direction) this.#isLost = true;
    if (this.#isLost) return;
    this.#chunks.push({ due: performance.now() + this.#weather.oneWay, chunk });
    this.deliver();
  }

  /** Sends what is due and reschedules itself for the rest. */
  deliver(): void {
    if (this.#weather.isStalled || this.#timer !== undefined) return;
    for (let next = this.#chunks[0]; next !== undefined; next = this.#chunks[0]) {
      const early = next.due - performance.now();
      if (early > 0) {
        this.#timer = setTimeout(() => {
          this.#timer = undefined;
          this.deliver();
        }, early);
        return;
      }
      this.#chunks.shift();
      if (next.chunk === null) this.#to.end();
      else if (this.#to.writable) this.#to.write(next.chunk);
    }
  }

  /** Ends the line at once, before anything that is still in transit. */
  halfClose(): void {
    this.#to.end();
  }

  cut(): void {
    clearTimeout(this.#timer);
    this.#to.destroy();
  }
}

/** Listens on a free port of this machine. */
export async function openTcpProxy(server: Address): Promise<TcpProxy> {
  const lines = new Set<Line>();
  const weather: Weather = { oneWay: 0, isStalled: false, lost: null };
  let target = server;

  function carry(direction: Direction, from: Socket, to: Socket): void {
    const line = new Line(direction, to, weather);
    lines.add(line);
    from.setNoDelay(true);
    from.on('data', (data: Buffer) => line.put(data));
    from.on('end', () => line.put(null));
    from.on('error', () => line.put(null));
    to.on('close', () => lines.delete(line));
  }

  const listener = createServer({ allowHalfOpen: true }, (inner) => {
    const outer = connect({ ...target, allowHalfOpen: true });
    carry('questions', inner, outer);
    carry('answers', outer, inner);
  });

  function cut(): void {
    for (const line of lines) line.cut();
  }

  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');

  return {
    port: (listener.address() as AddressInfo).port,
    delay: (milliseconds) => {
      weather.oneWay = milliseconds;
    },
    stall: (isNowStalled) => {
      weather.isStalled = isNowStalled;
      for (const line of lines) line.deliver();
    },
    lose: (direction) => {
      weather.lost = direction;
    },
    halfClose: () => {
      for (const line of lines) {
        if (line.direction === 'answers') line.halfClose();
      }
    },
    cut,
    turnTo: (address) => {
      target = address;
      cut();
    },
    connections: () => [...lines].filter(({ direction }) => direction === 'answers').length,
    async close() {
      const closed = once(listener, 'close');
      listener.close();
      cut();
      await closed;
    },
  };
}
