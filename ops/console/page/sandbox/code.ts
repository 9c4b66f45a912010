import type { CodeRunner, Scoped } from '../bindings/graph.ts';
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

/** Evaluates code in one worker of one frame, which is opened with the first piece of code. */
export function createCodeSandbox(): CodeRunner & Disposable {
  const waiting = new Map<number, Waiting>();
  let due: Job[] = [];
  let port: MessagePort | undefined;
  let frame: HTMLIFrameElement | undefined;
  let close = () => {};
  let last = 0;

  const open = () => {
    frame = document.createElement('iframe');
    frame.hidden = true;
    frame.title = 'Code of this page';
    close = openSandbox(frame, 'code', (opened) => {
      opened.onmessage = ({ data }: MessageEvent<Result | { ready: true }>) => {
        if ('ready' in data) {
          port = opened;
          flush();
        } else end(data);
      };
    });
    document.body.append(frame);
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
      close();
      frame?.remove();
      for (const { reject } of waiting.values()) reject(new Error('the page was left'));
      waiting.clear();
    },
  };
}
