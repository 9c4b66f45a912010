import { Nothing } from '../nothing.tsx';
import { flag, text, type WidgetProps } from '../page-context.ts';
import { useFileAddress } from './image.tsx';

export function VideoWidget({ title, properties: { src, withControls = true, isLooped, isMuted } }: WidgetProps) {
  const address = text(src);
  return address === '' ? (
    <Nothing>No video</Nothing>
  ) : (
    <Player {...{ title, address, withControls, isLooped, isMuted }} />
  );
}

function Player({
  title,
  address,
  withControls,
  isLooped,
  isMuted,
}: {
  title: string;
  address: string;
  withControls: unknown;
  isLooped: unknown;
  isMuted: unknown;
}) {
  const { address: shown, error } = useFileAddress(address);
  if (error) return <p className="note">{error}</p>;
  return (
    <video
      className="page-image"
      aria-label={title}
      src={shown}
      controls={flag(withControls)}
      loop={flag(isLooped)}
      muted={flag(isMuted)}
    />
  );
}
