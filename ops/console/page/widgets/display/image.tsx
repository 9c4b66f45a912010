import { useEffect, useState } from 'react';
import { Nothing } from '../nothing.tsx';
import { choice, number, text, usePage, type WidgetProps } from '../page-context.ts';

export function ImageWidget({ title, properties: { src, alt, fit, height } }: WidgetProps) {
  const address = text(src);
  if (address === '') return <Nothing>No image</Nothing>;
  const style = {
    objectFit: choice(fit, ['contain', 'cover', 'fill', 'none'], 'contain'),
    ...(number(height) !== undefined && { height: Math.min(Math.max(number(height) ?? 0, 20), 4_000) }),
  };
  return <FileImage src={address} alt={text(alt, title)} style={style} />;
}

/** An image of the tenant's files, whose address needs the viewer's token, or one in the address itself. */
export function FileImage({ src, alt, style = {} }: { src: string; alt: string; style?: object }) {
  const { address, error } = useFileAddress(src);
  if (error) return <p className="note">{error}</p>;
  if (!address) return <div className="page-image" style={style} />;
  return <img className="page-image" src={address} alt={alt} style={style} />;
}

/** The policy of the console lets it show its own files and images in an address, and ask no other server. */
export function useFileAddress(src: string): { address?: string; error?: string } {
  const { client } = usePage();
  const [state, setState] = useState<{ src: string; address?: string; error?: string }>({ src: '' });
  useEffect(() => {
    let isWanted = true;
    let made: string | undefined;
    client.fileAddress(src).then(
      (address) => {
        if (address.startsWith('blob:')) made = address;
        if (isWanted) setState({ src, address });
        else if (made) URL.revokeObjectURL(made);
      },
      (error: Error) => isWanted && setState({ src, error: error.message }),
    );
    return () => {
      isWanted = false;
      if (made) URL.revokeObjectURL(made);
    };
  }, [client, src]);
  return state.src === src ? state : {};
}
