/**
 * A proxy in front of a server, which can delay, stall, lose and cut traffic. `door.ts` is for
 * servers that only come and go.
 */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** Where a server is. */
export interface Address {
  readonly host: string;
  readonly port: number;
}

/** The direction of traffic: from clients, or from the server. */
export type Direction = 'questions' | 'answers';

/** The connections to a server. */
export interface TcpProxy {
  readonly port: number;
  /** Delays all new traffic by this many milliseconds in each direction. */
  delay(milliseconds: number): void;
  /** While true, nothing arrives on either side, and connections hang without ending. */
  stall(isStalled: boolean): void;
  /**
   * While set, nothing of one direction arrives, including the end of a connection. A connection
   * that has lost data never recovers, because TCP skips nothing: as if a firewall had forgotten
   * it.
   */
  lose(direction: Direction | null): void;
  /** Closes the server's side of each connection. Traffic of clients still arrives. */
  halfClose(): void;
  /** Ends all connections, and accepts new ones. */
  cut(): void;
  /** Ends all connections, and leads new ones to another server, as if it had taken the address. */
  turnTo(address: Address): void;
  /** Returns the number of connections. */
  connections(): number;
  /** Ends all connections and stops listening. */
  close(): Promise<void>;
}

/** The state that all lines share. */
interface Weather {
  oneWay: number;
  isStalled: boolean;
  lost: Direction | null;
}

/** A piece of traffic, or `null` for the end. */
type Chunk = Buffer | null;

/** One direction of a connection: chunks arrive in order, each after its delay. */
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

  /** Sends the chunks that are due, and schedules the rest. */
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

  /** Ends this direction, whatever is still in flight. */
  halfClose(): void {
    this.#to.end();
  }

  cut(): void {
    clearTimeout(this.#timer);
    this.#to.destroy();
  }
}

/** Opens a proxy at a free port of this machine. */
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
