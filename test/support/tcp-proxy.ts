/**
 * A proxy in front of a server, which can make the way to it longer, stop what is on it, lose it,
 * and cut it. `door.ts` is for those that only come and go.
 */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** Where a server is. */
export interface Address {
  readonly host: string;
  readonly port: number;
}

/** What is sent in one direction: by clients, or by the server. */
export type Direction = 'questions' | 'answers';

/** The way to a server. */
export interface TcpProxy {
  readonly port: number;
  /** Whatever is sent from now on takes this long in each direction, in milliseconds. */
  delay(milliseconds: number): void;
  /** While true, nothing arrives on either side, and no connection ends: it only hangs. */
  stall(isStalled: boolean): void;
  /**
   * While set, nothing of one direction arrives, the end of a connection included. A connection
   * that has lost something stays so, as TCP leaves nothing out: a firewall forgot it.
   */
  lose(direction: Direction | null): void;
  /** Ends what the server says on each connection; what clients say still arrives. */
  halfClose(): void;
  /** Ends all connections. New ones are let through. */
  cut(): void;
  /** New connections go there, and all others are ended: another server takes the address. */
  turnTo(address: Address): void;
  /** How many connections there are. */
  connections(): number;
  /** Ends all connections and listens no more. */
  close(): Promise<void>;
}

/** What all lines are told. */
interface Weather {
  oneWay: number;
  isStalled: boolean;
  lost: Direction | null;
}

/** What is sent, or `null` for its end. */
type Chunk = Buffer | null;

/** One direction of a connection: chunks arrive in order, each after its own time. */
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

  /** Sends what is due, and comes back for the rest. */
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

  /** Says that nothing more follows, whatever is still on the way. */
  halfClose(): void {
    this.#to.end();
  }

  cut(): void {
    clearTimeout(this.#timer);
    this.#to.destroy();
  }
}

/** Listens at a free port of this machine. */
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
