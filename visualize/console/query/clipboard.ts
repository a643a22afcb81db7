/** Copies a text, on origins too that browsers give no clipboard to. */
export const copyText = (text: string): void => {
  const put = (event: ClipboardEvent): void => {
    event.preventDefault();
    event.stopImmediatePropagation();
    event.clipboardData?.setData('text/plain', text);
  };
  addEventListener('copy', put, { capture: true, once: true });
  document.execCommand('copy');
  removeEventListener('copy', put, { capture: true });
};
