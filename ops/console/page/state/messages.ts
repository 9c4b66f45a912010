import { createStore, type Store } from './store.ts';

export type Tone = 'ok' | 'bad' | 'wait' | 'idle';

export interface Told {
  id: number;
  tone: Tone;
  text: string;
}

export interface Asked {
  question: string;
  answer(isYes: boolean): void;
}

/** A form whose values start a run. */
export interface AskedForm {
  definitions: readonly unknown[];
  /** Rejects if the start is refused: the form stays. */
  start(values: Readonly<Record<string, unknown>>): Promise<void>;
  leave(): void;
}

/** A page's messages to the person who looks at it, and its questions. */
export class Messages {
  readonly told: Store<readonly Told[]> = createStore<readonly Told[]>([]);
  readonly asked: Store<Asked | null> = createStore<Asked | null>(null);
  readonly form: Store<AskedForm | null> = createStore<AskedForm | null>(null);
  #last = 0;

  tell(tone: Tone, text: string): void {
    this.#last += 1;
    const told = { id: this.#last, tone, text: text.slice(0, 1_000) };
    // The oldest give way: a page in a loop must not cover itself.
    this.told.set([...this.told.get().slice(-3), told]);
  }

  untell(id: number): void {
    this.told.set(this.told.get().filter((one) => one.id !== id));
  }

  ask(question: string): Promise<boolean> {
    this.asked.get()?.answer(false);
    return new Promise((resolve) => {
      const answer = (isYes: boolean) => {
        this.asked.set(null);
        resolve(isYes);
      };
      this.asked.set({ question: question.slice(0, 2_000), answer });
    });
  }

  /** Shows a form until its values have started something, whose answer this is; null: the person has left it. */
  askInputs<T>(
    definitions: AskedForm['definitions'],
    start: (values: Parameters<AskedForm['start']>[0]) => Promise<T>,
  ) {
    this.form.get()?.leave();
    return new Promise<T | null>((resolve) => {
      const end = (result: T | null) => {
        if (this.form.get() === form) this.form.set(null);
        resolve(result);
      };
      const form: AskedForm = {
        definitions,
        start: async (values) => end(await start(values)),
        leave: () => end(null),
      };
      this.form.set(form);
    });
  }
}
