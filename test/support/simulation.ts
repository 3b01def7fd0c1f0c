/**
 * Processes over one database, one step at a time. Every store call takes effect in one step and is
 * answered in another; messages arrive in separate steps, and time passes in steps. The driver of a
 * simulation chooses the next step: `interleavings.ts` at random, `schedules.ts` in every order.
 * The possible answers of a call follow from what had happened before it started. After each step,
 * the database has to hold what `ledger.ts` says.
 */
import type { KeyRecord, KeyStore } from 'keyscope';
import { isStoreError } from 'keyscope';
import type { Invalidation } from 'keyscope/cache';
import { memoryStore } from 'keyscope/stores/memory';
import { Ledger, type Life, type Window } from './ledger.ts';
import { faultIn, faultInRefusal, type Knowledge, perform } from './simulated-calls.ts';
import {
  type Caller,
  CHILD_RECORD,
  type Command,
  FIRST_DIGEST,
  FIRST_RECORD,
  FIRST_TEXT,
  type KeyName,
  Process,
  SECOND_DIGEST,
  SECOND_TEXT,
  type Setting,
  textOfProcess,
} from './simulated-process.ts';

/** A well-formed key id that no key has. */
const NOWHERE = '0d0d0d0d-0000-4000-8000-00000000000d';

/** A step that can happen next. */
export interface Option {
  readonly kind: 'start' | 'effect' | 'answer' | 'fail' | 'arrive' | 'subscribe' | 'tick';
  readonly name: string;
  readonly take: () => void;
}

/** A store call that has not been answered. */
interface PendingCall {
  readonly process: Process;
  readonly name: string;
  readonly number: number;
  readonly isWrite: boolean;
  readonly act: () => unknown;
  readonly answer: (value: unknown) => void;
  readonly fail: (error: Error) => void;
  /** The answer, once the call took effect. */
  effect: { readonly value: unknown } | undefined;
  /** Whether the caller learned that the call failed, although it may still take effect. */
  isGivenUp: boolean;
}

/** A message that has not arrived. */
interface Message {
  readonly keyId: string;
  readonly to: Process;
  readonly isLost: boolean;
}

/** Runs everything that only waits for its turn. */
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

// ── A run ────────────────────────────────────────────────────────────────────────────────────────

/** One run. Call `end` after each, because waiting calls hold timers. */
export class Simulation {
  readonly setting: Setting;
  /** The faults that were found. */
  readonly wrong: string[] = [];
  readonly #database = memoryStore();
  readonly #ledger: Ledger;
  readonly #processes: readonly Process[];
  /** The newest successor that was handed out. */
  #newest = FIRST_TEXT;
  #time = 0;
  #calls: PendingCall[] = [];
  #messages: Message[] = [];
  #subscribing: { readonly process: Process; readonly take: () => void }[] = [];
  #ticked = 0;
  #failed = 0;
  #isOver = false;

  /** Starts a run: everybody is connected, and nothing has happened. */
  static async begin(setting: Setting): Promise<Simulation> {
    const world = new Simulation(setting);
    await settle();
    return world;
  }

  private constructor(setting: Setting) {
    this.setting = setting;
    const { processes, maxStalenessMs, isSuspended, hasChild } = setting;
    const database = this.#database;
    database.insert(FIRST_RECORD);
    if (hasChild) database.insert(CHILD_RECORD);
    if (isSuspended) {
      database.mark(FIRST_RECORD.keyId, { kind: 'suspend', at: 0, by: null, reason: null });
    }
    this.#ledger = new Ledger(database, processes.length, maxStalenessMs, this.wrong);
    const first = database.findById(FIRST_RECORD.keyId) as KeyRecord;
    this.#ledger.begin(FIRST_DIGEST, 'first', first);
    if (hasChild) this.#ledger.begin(SECOND_DIGEST, 'second', CHILD_RECORD);
    else this.#ledger.expect(SECOND_DIGEST, 'second');
    this.#processes = processes.map((plan, number) => new Process(this, number, plan));
  }

  readonly now = (): number => this.#time;

  /** Takes one of {@link options}, and everything that follows from it without another step. */
  async take(option: Option): Promise<void> {
    option.take();
    await settle();
  }

  /** Fails all waiting calls. */
  async end(): Promise<void> {
    this.#isOver = true;
    const calls = this.#calls;
    this.#calls = [];
    for (const { fail } of calls) fail(new Error('the run is over'));
    await settle();
  }

  /** Checks the contents of the database. */
  check(): void {
    this.#ledger.check(
      this.#processes.map(({ openRotations, brokenRotations }) => openRotations + brokenRotations),
    );
  }

  /** Checks the end of a run, once no option is left. */
  checkEnd(): void {
    const callers = this.#processes.flatMap((process) => process.callers);
    for (const { name, window } of callers) {
      if (window !== undefined) this.wrong.push(`caller ${name} was never answered`);
    }
    const commands = callers.flatMap((caller) => caller.commands);
    const changing = commands.filter(({ act }) => act !== 'verify');
    const isRotated = changing.every(({ act, key }) => act === 'rotate' && key === 'first');
    const { isSuspended, failures } = this.setting;
    if (!isRotated || changing.length === 0 || isSuspended || failures > 0) return;
    const held = this.#ledger.heldSuccessorsOf(this.#ledger.ofDigest(FIRST_DIGEST));
    if (held === 0) this.wrong.push('of rotations alone, none succeeded');
  }

  // ── What can happen next ───────────────────────────────────────────────────────────────────────

  options(): readonly Option[] {
    const options: Option[] = [];
    for (const { callers } of this.#processes) {
      for (const caller of callers) this.#addStart(options, caller);
    }
    for (const call of this.#calls) this.#addCall(options, call);
    for (const message of this.#messages) this.#addMessage(options, message);
    for (const { process, take } of this.#subscribing) {
      options.push({ kind: 'subscribe', name: `${process.number} is subscribed`, take });
    }
    const tick = this.setting.ticks[this.#ticked];
    if (tick !== undefined) {
      options.push({ kind: 'tick', name: `${tick} ms pass`, take: () => this.#tick(tick) });
    }
    return options;
  }

  #addStart(options: Option[], caller: Caller): void {
    const command = caller.commands[caller.begun];
    if (command === undefined || caller.window !== undefined) return;
    const name = `${caller.name} begins: ${command.act} ${command.key}`;
    options.push({ kind: 'start', name, take: () => this.#start(caller, command) });
  }

  #addCall(options: Option[], call: PendingCall): void {
    const what = `${call.process.number}: ${call.name}`;
    if (call.effect === undefined) {
      const name = call.isGivenUp ? `${what} takes effect, late` : `${what} takes effect`;
      options.push({ kind: 'effect', name, take: () => this.#effect(call) });
    } else {
      options.push({ kind: 'answer', name: `${what} is answered`, take: () => this.#answer(call) });
    }
    if (call.isGivenUp || this.#failed >= this.setting.failures) return;
    // For a failing look-up, it makes no difference whether it took effect.
    if (call.effect !== undefined) {
      options.push({
        kind: 'fail',
        name: `${what} took effect and fails`,
        take: () => this.#fail(call),
      });
    } else if (call.isWrite) {
      options.push({ kind: 'fail', name: `${what} fails`, take: () => this.#fail(call) });
      const name = `${what} fails and may take effect later`;
      options.push({ kind: 'fail', name, take: () => this.#giveUp(call) });
    }
  }

  #addMessage(options: Option[], message: Message): void {
    if (message.isLost) return;
    const name = `${message.to.number} hears of ${this.#nameOf(message.keyId)}`;
    options.push({ kind: 'arrive', name, take: () => this.#arrive(message) });
  }

  #nameOf(keyId: string): string {
    return this.#ledger.ofKeyId(keyId)?.name ?? '?';
  }

  #tick(ms: number): void {
    this.#ticked += 1;
    this.#time += ms;
  }

  #effect(call: PendingCall): void {
    if (call.isGivenUp) this.#calls = this.#calls.filter((other) => other !== call);
    try {
      call.effect = { value: call.act() };
    } catch (error) {
      call.effect = { value: error };
    }
  }

  #answer(call: PendingCall): void {
    this.#calls = this.#calls.filter((other) => other !== call);
    const value = call.effect?.value;
    this.#note(call.process, `${call.number}=${this.#ledger.textOf(value, this.#time)}`);
    if (value instanceof Error) call.fail(value);
    else call.answer(value);
  }

  #fail(call: PendingCall): void {
    this.#calls = this.#calls.filter((other) => other !== call);
    this.#break(call);
  }

  #giveUp(call: PendingCall): void {
    call.isGivenUp = true;
    this.#break(call);
  }

  #break(call: PendingCall): void {
    this.#failed += 1;
    call.process.failures += 1;
    this.#note(call.process, `${call.number} failed`);
    call.fail(new Error('the connection broke'));
  }

  #arrive(message: Message): void {
    this.#messages = this.#messages.filter((other) => other !== message);
    this.#hear(message.to, message.keyId);
  }

  #hear(process: Process, keyId: string): void {
    const life = this.#ledger.ofKeyId(keyId);
    this.#note(process, `hears ${life?.name}`);
    process.listener?.(keyId);
    if (life !== undefined) this.#ledger.tell(life, process.number);
  }

  /** Notes what a process received, and when. */
  #note(process: Process, what: string): void {
    process.history.push(`${what}@${this.#time}`);
  }

  // ── What a process is connected to ─────────────────────────────────────────────────────────────

  /** Returns the database as a process sees it. */
  connect(process: Process): KeyStore {
    const database = this.#database;
    const ledger = (): Ledger => this.#ledger;
    const read = <T>(name: string, act: () => unknown): Promise<T> =>
      this.#call<T>(process, name, false, act);
    return {
      ...database,
      findById: (keyId) => read(`findById ${this.#nameOf(keyId)}`, () => database.findById(keyId)),
      findByDigest: (digests) =>
        read(`findByDigest ${ledger().ofDigest(String(digests[0])).name}`, () =>
          database.findByDigest(digests),
        ),
      listLineage: (query) => read('listLineage', () => this.#byName(database.listLineage(query))),
      insert: (record) => this.#insert(process, record),
      mark: (keyId, mark) => this.#mark(process, keyId, mark),
    };
  }

  /** Sorts rows by name: ids are random, and runs must be the same each time. */
  #byName(rows: unknown): readonly KeyRecord[] {
    const list = [...(rows as readonly KeyRecord[])];
    return list.sort((one, other) =>
      this.#nameOf(one.keyId) < this.#nameOf(other.keyId) ? -1 : 1,
    );
  }

  async #insert(process: Process, record: KeyRecord): Promise<void> {
    const life = this.#ledger.ofDigest(record.digest, `${process.number}.${process.minted}`);
    const insert = (): void => {
      this.#database.insert(record);
      this.#ledger.inserted(record, process.number, this.#time);
    };
    try {
      await this.#call(process, `insert ${life.name}`, true, insert);
    } finally {
      this.#ledger.tellMade(life, process.number);
    }
  }

  async #mark(...[process, keyId, mark]: [Process, ...Parameters<KeyStore['mark']>]) {
    const life = this.#ledger.ofKeyId(keyId);
    if (life === undefined) throw new Error('a mark for no key');
    let written = 0;
    const write = (): boolean => {
      const wrote = this.#database.mark(keyId, mark) as boolean;
      if (wrote) this.#ledger.marked(life, mark, this.#time);
      written = life.versions.length - 1;
      return wrote;
    };
    try {
      const wrote = await this.#call<boolean>(process, `${mark.kind} ${life.name}`, true, write);
      if (wrote) life.acknowledged = Math.max(life.acknowledged, written);
      return wrote;
    } finally {
      this.#ledger.tell(life, process.number);
    }
  }

  /** Makes a database call, which takes effect in one step and is answered in another. */
  #call<T>(process: Process, name: string, isWrite: boolean, act: () => unknown): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.#isOver) {
        reject(new Error('the run is over'));
        return;
      }
      process.calls += 1;
      this.#calls.push({
        process,
        name,
        number: process.calls,
        isWrite,
        act,
        answer: resolve as (value: unknown) => void,
        fail: reject,
        effect: undefined,
        isGivenUp: false,
      });
    });
  }

  /** Returns the channel as a process sees it. */
  portOf(process: Process): Invalidation {
    const { channel } = this.setting;
    return {
      subscribe: (listener) => {
        const begin = (): void => {
          process.listener = listener;
          process.isSubscribed = true;
          this.#ledger.tellAll(process.number);
        };
        if (channel !== 'late') {
          begin();
          return;
        }
        return new Promise<void>((resolve) => {
          const take = (): void => {
            this.#subscribing = this.#subscribing.filter((other) => other.take !== take);
            this.#note(process, 'subscribed');
            begin();
            resolve();
          };
          this.#subscribing.push({ process, take });
        });
      },
      publish: async (keyId) => {
        this.#publish(process, keyId);
        if (channel === 'broken') throw new Error('no channel');
        if (channel === 'hanging') await new Promise(() => {});
      },
    };
  }

  #publish(from: Process, keyId: string): void {
    const { channel } = this.setting;
    const isDelivered = channel === 'later' || channel === 'late';
    const isBeat = this.#ledger.ofKeyId(keyId) === undefined;
    const isAtOnce = channel === 'at once' || (isDelivered && isBeat);
    for (const process of this.#processes) {
      if (process.listener === undefined || (process === from && !isBeat)) continue;
      if (isAtOnce) this.#hear(process, keyId);
      else if (!isBeat) this.#messages.push({ keyId, to: process, isLost: !isDelivered });
    }
  }

  // ── Calls, and what they may answer ────────────────────────────────────────────────────────────

  #start(caller: Caller, command: Command): void {
    const { process } = caller;
    caller.begun += 1;
    this.#note(process, `${caller.name} begins`);
    const text = this.#textOf(command.key);
    const life = this.#ledger.ofText(text);
    caller.window = this.#windowOf(process, command, life);
    void this.#perform(caller, command, text, caller.window);
  }

  #textOf(key: KeyName): string {
    if (key === 'newest') return this.#newest;
    return key === 'first' ? FIRST_TEXT : SECOND_TEXT;
  }

  #windowOf(process: Process, { act }: Command, life: Life): Window {
    if (act !== 'verify' || !process.isCached) return this.#ledger.open(life, this.#time);
    const isOnItsWay = this.#messages.some(
      ({ keyId, to }) => to === process && keyId === life.keyId,
    );
    const isCurrent = process.isSubscribed && !isOnItsWay;
    return this.#ledger.openCached(life, process.number, this.#time, isCurrent);
  }

  async #perform(caller: Caller, command: Command, text: string, window: Window): Promise<void> {
    const { process } = caller;
    const isRotation = command.act.startsWith('rotate');
    if (isRotation) process.openRotations += 1;
    let complaint: string | undefined;
    try {
      const answer = await perform(process, command, text, window.life.keyId || NOWHERE);
      if (this.#isOver) return;
      if (isRotation) this.#newest = answer ?? '';
      complaint = faultIn(this.#known(), command, answer, window);
    } catch (error) {
      if (this.#isOver) return;
      complaint = faultInRefusal(this.#known(), process, command, error, window);
      if (isRotation && isStoreError(error)) process.brokenRotations += 1;
    }
    if (this.#isOver) return;
    if (isRotation) process.openRotations -= 1;
    if (complaint !== undefined) this.wrong.push(`${caller.name}, ${command.act}: ${complaint}`);
    caller.window = undefined;
    process.forget();
  }

  #known(): Knowledge {
    return { ledger: this.#ledger, time: this.#time };
  }

  // ── As text ────────────────────────────────────────────────────────────────────────────────────

  /**
   * Describes everything that can still matter. Two runs of one setting with the same state have
   * the same continuations. Their databases, pending calls and ledgers are equal. Each process
   * received the same in the same order, so its memory is equal, too.
   */
  state(): string {
    const callers = this.#processes.flatMap((process) => process.callers);
    const windows = callers.flatMap(({ window }) => (window === undefined ? [] : [window]));
    const isCached = this.#processes.map((process) => process.isCached);
    const calls = this.#calls.map(
      ({ process, number, name, effect, isGivenUp }) =>
        `${process.number} ${isGivenUp ? '-' : number} ${name} ${
          effect === undefined ? '' : `= ${this.#ledger.textOf(effect.value, this.#time)}`
        }`,
    );
    const messages = this.#messages.map(
      ({ keyId, to }) => `${this.#nameOf(keyId)} to ${to.number}`,
    );
    return [
      `${this.#time} ${this.#ticked} ${this.#failed} ${this.#ledger.ofText(this.#newest).name}`,
      ...this.#processes.map(textOfProcess),
      ...calls.sort(),
      ...messages.sort(),
      this.#ledger.state(windows, this.#time, isCached),
    ].join('\n');
  }
}
