// The look of the site: VitePress' default theme with the system's fonts, our colours, the versions and the playground.

import { type Theme, defineClientComponent } from "vitepress";
import DefaultTheme from "vitepress/theme-without-fonts";
import { h } from "vue";
import NotFound from "./NotFound.vue";
import Versions from "./Versions.vue";
import "./style.css";

export default {
  extends: DefaultTheme,
  Layout: () =>
    h(DefaultTheme.Layout, null, {
      "nav-bar-content-after": () => h(Versions, { class: "in-bar" }),
      "nav-screen-content-after": () => h(Versions, { class: "in-screen" }),
      "not-found": () => h(NotFound),
    }),
  enhanceApp({ app, router, siteData }) {
    // The host shows this version's page for what is missing above it too. There VitePress would cut the base off an address
    // that doesn't begin with it, and show whatever page is called like the rest.
    router.onBeforePageLoad = (to) => import.meta.env.SSR || to.startsWith(siteData.value.base);

    // A page has no slash behind it. Hosts answer such an address with the page for what is missing, and the router would show
    // an empty one.
    if (!import.meta.env.SSR && document.title.startsWith("404") && /[^/]\/+$/.test(location.pathname)) {
      location.replace(location.pathname.replace(/\/+$/, "") + location.search + location.hash);
    }

    // The page's `layout: playground`. It has an editor and a worker, which no server can render.
    app.component("playground", defineClientComponent(() => import("../../playground/Playground.vue")));
  },
} satisfies Theme;
