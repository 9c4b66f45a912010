/** A session as a tab keeps it: which sign-in it is of, how often that was renewed, and how. */
interface StoredSession {
  signInID: string;
  renewals: number;
  renewal: { kind: string };
}

/** A refresh token that is used twice ends the sign-in, so tabs with the same session renew it one at a time, and tell each other. */
export interface SessionTabs<S extends StoredSession> {
  /** Does the work while no other tab renews this sign-in, and after a tab that has renewed it has been heard. */
  oneAtATime(session: S, work: () => Promise<void>): Promise<void>;
  /** Tells the other tabs of a renewed session. */
  tell(session: S): void;
}

type Renewal = Pick<StoredSession, 'signInID' | 'renewals'>;

type Message<S> =
  | { renewed: S }
  /** Asked by a tab that may have missed one: it was asleep, or was restored. */
  | { asked: Renewal };

const CHANNEL = 'gantry.session';
/** For the answer of another tab, which is here within milliseconds if there is one. */
const ANSWER_MS = 300;
/** For another tab that renews it. */
const RENEWAL_MS = 30_000;

export function connectTabs<S extends StoredSession>(
  get: () => S | undefined,
  set: (session: S) => void,
): SessionTabs<S> {
  const channel = new BroadcastChannel(CHANNEL);
  let heard: (() => void) | undefined;
  channel.onmessage = ({ data }: { data: Message<S> }) => {
    const own = get();
    if (!own) return;
    if ('asked' in data) {
      if (isLater(own, data.asked)) channel.postMessage({ renewed: own } satisfies Message<S>);
    } else if (isLater(data.renewed, own)) {
      set(data.renewed);
      heard?.();
    }
  };

  async function hearOthers({ signInID, renewals }: StoredSession): Promise<void> {
    const answered = new Promise<void>((resolve) => {
      heard = resolve;
      setTimeout(resolve, ANSWER_MS);
    });
    channel.postMessage({ asked: { signInID, renewals } } satisfies Message<S>);
    await answered;
    heard = undefined;
  }

  return {
    async oneAtATime(session, work) {
      // Only a refresh token is used up. A page without TLS has no locks, and no provider signs in there.
      if (session.renewal.kind !== 'provider') return work();
      const options = { signal: AbortSignal.timeout(RENEWAL_MS) };
      await navigator.locks.request(`${CHANNEL}.${session.signInID}`, options, async () => {
        await hearOthers(session);
        await work();
      });
    },
    tell(session) {
      if (session.renewal.kind === 'provider') channel.postMessage({ renewed: session } satisfies Message<S>);
    },
  };
}

function isLater(one: Renewal, other: Renewal): boolean {
  return one.signInID === other.signInID && one.renewals > other.renewals;
}
