// Shows one language at a time of every group of blocks, the same on all pages.
(() => {
  const KEY = "tvm-ffi-codegen.language";
  const groups = [];

  const show = (language) => {
    for (const { buttons, panels } of groups) {
      const chosen = buttons.some((button) => button.textContent === language) ? language : buttons[0].textContent;
      buttons.forEach((button, at) => {
        const selected = button.textContent === chosen;
        button.setAttribute("aria-selected", selected);
        panels[at].hidden = !selected;
      });
    }
  };

  for (const group of document.querySelectorAll(".tabs")) {
    const names = [...group.querySelectorAll(".tab")];
    const bar = document.createElement("div");
    bar.className = "bar";
    bar.setAttribute("role", "tablist");
    const buttons = names.map((name) => {
      const button = document.createElement("button");
      button.textContent = name.textContent;
      button.setAttribute("role", "tab");
      button.addEventListener("click", () => {
        try { localStorage.setItem(KEY, button.textContent); } catch { /* Storage may be refused. */ }
        show(button.textContent);
      });
      bar.append(button);
      return button;
    });
    const panels = names.map((name) => name.nextElementSibling);
    names.forEach((name) => name.remove());
    group.prepend(bar);
    groups.push({ buttons, panels });
  }

  let language = null;
  try { language = localStorage.getItem(KEY); } catch { /* Storage may be refused. */ }
  show(language);
})();
