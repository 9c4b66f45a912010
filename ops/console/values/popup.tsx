import { type ReactNode, type RefObject, useEffect, useEffectEvent, useLayoutEffect, useRef } from 'react';

interface Props {
  /** The element beside which it stands. */
  anchor: RefObject<Element | null>;
  /** The side of the anchor that it begins at. */
  side: 'start' | 'end';
  className: string;
  /** It takes the focus, and is left by Escape. */
  dialogLabel?: string;
  onClose: () => void;
  children: ReactNode;
}

const GAP = 4;

/** A part of the page above all others, also above a dialog that it is in. */
export function Popup({ anchor, side, className, dialogLabel, onClose, children }: Props) {
  const own = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const popup = own.current;
    if (!popup) return;
    popup.showPopover();
    const draw = () => anchor.current && moveBeside(popup, anchor.current, side);
    draw();
    const watcher = new ResizeObserver(draw);
    watcher.observe(popup);
    addEventListener('resize', draw);
    addEventListener('scroll', draw, { capture: true, passive: true });
    return () => {
      watcher.disconnect();
      removeEventListener('resize', draw);
      removeEventListener('scroll', draw, { capture: true });
    };
  }, [anchor, side]);
  const leave = useEffectEvent((target: EventTarget | null) => {
    const isWithin = target instanceof Node && (own.current?.contains(target) || anchor.current?.contains(target));
    if (!isWithin) onClose();
  });
  useEffect(() => {
    const onPointer = ({ target }: Event) => leave(target);
    document.addEventListener('pointerdown', onPointer);
    return () => document.removeEventListener('pointerdown', onPointer);
  }, []);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: it hears the keys of what is in it
    <div
      ref={own}
      popover="manual"
      className={`value-popup ${className}`}
      {...(dialogLabel !== undefined && { role: 'dialog', 'aria-label': dialogLabel })}
      onBlur={({ relatedTarget }) => relatedTarget && leave(relatedTarget)}
      onKeyDown={(event) => {
        if (event.key !== 'Escape') return;
        event.preventDefault();
        event.stopPropagation();
        onClose();
      }}
    >
      {children}
    </div>
  );
}

/** Below its anchor, or above where there is more room, and within the window. */
function moveBeside(popup: HTMLElement, anchor: Element, side: Props['side']): void {
  const { top, bottom, left, right } = anchor.getBoundingClientRect();
  const { offsetWidth: width, offsetHeight: height } = popup;
  const wanted = side === 'start' ? left : right - width;
  const isBelow = bottom + GAP + height <= innerHeight || innerHeight - bottom >= top;
  const y = isBelow ? bottom + GAP : top - GAP - height;
  popup.style.left = `${Math.max(GAP, Math.min(wanted, innerWidth - width - GAP))}px`;
  popup.style.top = `${Math.max(GAP, Math.min(y, innerHeight - height - GAP))}px`;
}
