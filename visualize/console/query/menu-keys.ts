/** Keys of a menu: the arrows, Home and End go from item to item; Escape and Tab close it. */
export const menuKeys =
  (onClose: () => void) =>
  (event: KeyboardEvent & { readonly currentTarget: HTMLElement }): void => {
    const all = [...event.currentTarget.querySelectorAll<HTMLElement>('[role^=menuitem]')];
    const at = all.indexOf(document.activeElement as HTMLElement);
    const to: Readonly<Record<string, number>> = {
      ArrowDown: (at + 1) % all.length,
      ArrowUp: (at + all.length - 1) % all.length,
      Home: 0,
      End: all.length - 1,
    };
    if (event.key === 'Escape' || event.key === 'Tab') {
      event.preventDefault();
      onClose();
    } else if (to[event.key] !== undefined) {
      event.preventDefault();
      all[to[event.key]].focus();
    }
  };
