/** Files dropped anywhere on the page. */
import { useEffect, useRef } from 'preact/hooks';
import { useSignal } from '@preact/signals';

/** True while files are held over the page. */
export const useDrop = (take: (files: readonly File[]) => void, on = true): boolean => {
  const over = useSignal(false);
  const latest = useRef(take);
  latest.current = take;
  useEffect(() => {
    if (!on) return undefined;
    const has = (event: DragEvent): boolean =>
      (event.dataTransfer?.types.includes('Files') ?? false) && document.querySelector('dialog[open]') === null;
    const drag = (event: DragEvent): void => {
      if (!has(event)) return;
      event.preventDefault();
      over.value = true;
    };
    const leave = (event: DragEvent): void => {
      if (event.relatedTarget === null) over.value = false;
    };
    const drop = (event: DragEvent): void => {
      if (!has(event)) return;
      event.preventDefault();
      over.value = false;
      latest.current([...(event.dataTransfer?.files ?? [])]);
    };
    addEventListener('dragover', drag);
    addEventListener('dragleave', leave);
    addEventListener('drop', drop);
    return () => {
      removeEventListener('dragover', drag);
      removeEventListener('dragleave', leave);
      removeEventListener('drop', drop);
    };
  }, [on]);
  return over.value;
};
