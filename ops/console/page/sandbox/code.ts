import type { CodeRunner, Scoped } from '../bindings/code-run.ts';
import { openSandbox } from './open-sandbox.ts';

interface Job {
  id: number;
  source: string;
  scope: readonly Scoped[];
}

interface Result {
  id: number;
  json?: string;
  message?: string;
}

interface Waiting {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

/** The frame is loaded by then, or the API was away. */
const READY_MS = 10_000;

/** Evaluates code in one worker of one frame, which is opened with the first piece of code. */
export function createCodeSandbox(): CodeRunner & Disposable {
  const waiting = new Map<number, Waiting>();
  let due: Job[] = [];
  let port: MessagePort | undefined;
  let frame: HTMLIFrameElement | undefined;
  let close = () => {};
  let timer: ReturnType<typeof setTimeout> | undefined;
  let last = 0;

  const open = () => {
    frame = document.createElement('iframe');
    frame.hidden = true;
    frame.title = 'Code of this page';
    close = openSandbox(frame, 'code', (opened) => {
      opened.onmessage = ({ data }: MessageEvent<Result | { ready: true }>) => {
        if ('ready' in data) {
          clearTimeout(timer);
          port = opened;
          flush();
        } else end(data);
      };
    });
    document.body.append(frame);
    timer = setTimeout(() => leave('code could not be loaded'), READY_MS);
  };
  /** The next piece of code opens another frame. */
  const leave = (why: string) => {
    clearTimeout(timer);
    close();
    frame?.remove();
    frame = undefined;
    port = undefined;
    due = [];
    const left = [...waiting.values()];
    waiting.clear();
    for (const { reject } of left) reject(new Error(why));
  };
  const flush = () => {
    if (!port || due.length === 0) return;
    const jobs = due;
    due = [];
    try {
      // Together, so that values that several jobs read are copied once.
      port.postMessage(jobs);
    } catch (error) {
      for (const { id } of jobs) end({ id, message: String(error) });
    }
  };
  const end = ({ id, json, message }: Result) => {
    const one = waiting.get(id);
    waiting.delete(id);
    if (message !== undefined) one?.reject(new Error(message));
    else one?.resolve(json === undefined ? undefined : JSON.parse(json));
  };

  return {
    run({ source, scope }) {
      if (!frame) open();
      last += 1;
      const id = last;
      if (due.length === 0) queueMicrotask(flush);
      due.push({ id, source, scope });
      return new Promise((resolve, reject) => waiting.set(id, { resolve, reject }));
    },
    [Symbol.dispose]() {
      leave('the page was left');
    },
  };
}
